//! Command of a server on its way to the guard that starts it.
//!
//! Arguments and variables may be secrets. As arguments of the guard they would stand in the list of processes a second
//! time, and as its variables they would apply to the guard, which is our own program. So they go through its standard
//! input, in front of what the server reads there.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Most bytes of a command. The system itself takes six megabytes of arguments and variables at most.
const LONGEST: usize = 8 * 1024 * 1024;

/// Program of a server, with all that it is started with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServerCommand {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// The whole environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl ServerCommand {
    /// Message to the guard: its length, the number of arguments, then every text with a null character at its end.
    /// None of the texts has one in it.
    pub(crate) fn to_message(&self) -> Vec<u8> {
        let mut texts = Vec::new();
        let mut add = |parts: &[&OsStr]| {
            for part in parts {
                texts.extend_from_slice(part.as_bytes());
            }
            texts.push(0);
        };
        add(&[&self.program]);
        self.arguments.iter().for_each(|argument| add(&[argument]));
        for (name, value) in &self.environment {
            add(&[name, "=".as_ref(), value]);
        }
        let numbers = [texts.len() as u64, self.arguments.len() as u64];
        let mut message: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        message.append(&mut texts);
        message
    }

    /// Reads a message, and not one byte more: what follows is for the server.
    pub(crate) fn read(input: &mut impl Read) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let mut number = || {
            let mut bytes = [0; 8];
            input.read_exact(&mut bytes)?;
            usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| invalid())
        };
        let (length, arguments) = (number()?, number()?);
        if length > LONGEST {
            return Err(io::ErrorKind::ArgumentListTooLong.into());
        }
        let mut texts = vec![0; length];
        input.read_exact(&mut texts)?;
        let texts = texts.strip_suffix(&[0]).ok_or_else(invalid)?;
        let mut texts = texts.split(|byte| *byte == 0).map(<[u8]>::to_vec);
        let program = texts.next().map(OsString::from_vec).ok_or_else(invalid)?;
        let arguments = texts
            .by_ref()
            .take(arguments)
            .map(OsString::from_vec)
            .collect();
        let variable = |text: Vec<u8>| {
            let name = text.iter().position(|byte| *byte == b'=')?;
            let value = OsString::from_vec(text[name + 1..].to_vec());
            Some((OsString::from_vec(text[..name].to_vec()), value))
        };
        Ok(Self {
            program,
            arguments,
            environment: texts.filter_map(variable).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(arguments: &[&str]) -> ServerCommand {
        ServerCommand {
            program: "a program".into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: vec![
                ("NAME".into(), "a=b".into()),
                ("EMPTY".into(), "".into()),
                ("ODD".into(), OsString::from_vec(vec![0xff, b'\n'])),
            ],
        }
    }

    #[test]
    fn a_command_arrives_as_it_was_sent_and_the_rest_stays() {
        for arguments in [&[][..], &[""], &["--token", "x y", ""]] {
            let sent = command(arguments);
            let message = [sent.to_message(), b"{\"jsonrpc\"".to_vec()].concat();
            let mut input = message.as_slice();
            assert_eq!(ServerCommand::read(&mut input).unwrap(), sent);
            assert_eq!(input, b"{\"jsonrpc\"");
        }
    }

    #[test]
    fn a_message_that_is_none_is_refused() {
        let message = command(&["x"]).to_message();
        for end in 0..message.len() {
            assert!(ServerCommand::read(&mut &message[..end]).is_err());
        }
        let too_long = [u64::MAX.to_le_bytes(), [0; 8]].concat();
        let refused = ServerCommand::read(&mut too_long.as_slice()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ArgumentListTooLong);
    }
}
