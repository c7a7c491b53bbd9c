//! TLS to the database.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcpproxy_support::tls::{TlsClient, client};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};

/// TLS as the driver asks for it; nothing where the address asks for none.
#[derive(Debug, Clone, Default)]
pub(super) struct PostgresTls(pub(super) Option<TlsClient>);

/// TLS to the host of this name.
pub(super) struct HostTls {
    tls: PostgresTls,
    host: String,
}

/// Connection in TLS.
pub(super) struct EncryptedSocket(client::TlsStream<Socket>);

impl MakeTlsConnect<Socket> for PostgresTls {
    type Stream = EncryptedSocket;
    type TlsConnect = HostTls;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<HostTls> {
        Ok(HostTls {
            tls: self.clone(),
            host: host.to_owned(),
        })
    }
}

impl TlsConnect<Socket> for HostTls {
    type Stream = EncryptedSocket;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedSocket>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let tls = self.tls.0.ok_or(io::ErrorKind::Unsupported)?;
            let stream = tls.connect(&self.host, socket)?.await?;
            Ok(EncryptedSocket(stream))
        })
    }
}

impl TlsStream for EncryptedSocket {
    /// None: it would need the certificate to be taken apart, which nothing else here does.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for EncryptedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for EncryptedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
