use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde::Deserialize;

use std::sync::LazyLock;

use super::*;
use crate::model::TOKEN_LIMIT;

static ENCODER: LazyLock<Encoder> = LazyLock::new(|| Encoder::load().expect("the model is there"));

/// A text, its tokens, and its vector with the original weights.
#[derive(Deserialize)]
struct Reference {
    text: String,
    tokens: Vec<u32>,
    /// Numbers of 32 bits, as Base64.
    vector: String,
}

/// What `models/make.py` wrote.
fn reference() -> Vec<Reference> {
    let rows = include_str!("../tests/reference.json");
    serde_json::from_str(rows).expect("the file is of this form")
}

impl Reference {
    fn vector(&self) -> Vec<f32> {
        let bytes = STANDARD.decode(&self.vector).expect("it is Base64");
        let numbers = bytes.as_chunks().0.iter();
        numbers.map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let product =
        |one: &[f32], other: &[f32]| -> f32 { one.iter().zip(other).map(|(a, b)| a * b).sum() };
    product(one, other) / (product(one, one) * product(other, other)).sqrt()
}

#[test]
fn texts_have_the_tokens_of_the_original() {
    for Reference { text, tokens, .. } in reference() {
        assert_eq!(ENCODER.tokens(&text), tokens, "{text:?}");
    }
}

#[test]
fn vectors_agree_with_those_of_the_original_weights() {
    let mut least = 1.0_f32;
    let all = reference();
    assert_eq!(all.len(), 200);
    for reference in all {
        let vector = ENCODER.embed(&reference.text);
        let alike = cosine(&vector.numbers(), &reference.vector());
        assert!(alike >= 0.99, "{alike} for {:?}", reference.text);
        least = least.min(alike);
    }
    println!("the least cosine is {least}");
}

#[test]
fn what_means_the_same_is_nearer_than_what_does_not() {
    let asked = ENCODER.embed("Read this paragraph out loud");
    let speech = asked.similarity(&ENCODER.embed("text to speech"));
    let other = asked.similarity(&ENCODER.embed("delete a database table"));
    assert!(speech > other + 0.2, "{speech} {other}");
    assert!((asked.similarity(&asked) - 1.0).abs() < 0.01);
    let both = asked.similarities(&[ENCODER.embed("text to speech"), asked.clone()]);
    assert_eq!(
        both.map(f32::to_bits),
        [speech, asked.similarity(&asked)].map(f32::to_bits)
    );
}

#[test]
fn what_people_say_is_moved_towards_what_tools_say() {
    let pairs = [
        (
            "What does the clock say in Oslo?",
            "Get the current time in a time zone",
        ),
        (
            "My disk is nearly full, who takes all the room?",
            "Get the size of each file and directory",
        ),
        (
            "Who broke the build last night?",
            "List the recent runs of a pipeline",
        ),
        (
            "I can't make it on Friday, tell them I'm not coming",
            "Decline an invitation to an event",
        ),
        (
            "Whom do I owe money?",
            "List unpaid invoices of all suppliers",
        ),
    ];
    let tools = pairs.map(|(_, tool)| ENCODER.embed(tool));
    // Lead of the tools that are meant over the others, all together.
    let lead = |vector_of: fn(&str) -> Vector| -> f32 {
        let leads = pairs.iter().enumerate().map(|(meant, (asked, _))| {
            let similarities = vector_of(asked).similarities(&tools);
            let others = similarities.iter().sum::<f32>() - similarities[meant];
            similarities[meant] - others / 4.0
        });
        leads.sum()
    };
    let before = lead(|asked| ENCODER.embed(asked));
    let after = lead(|asked| ENCODER.embed_request(asked).unwrap());
    println!("the lead was {before} and is {after}");
    assert!(after > before * 1.1, "{before} {after}");
}

#[test]
fn a_matrix_of_nothing_moves_nothing_and_one_of_something_does() {
    let text = ENCODER.embed("create an issue");
    let mut numbers = vec![[0.0; DIMENSIONS]; DIMENSIONS];
    let nothing = RequestMatrix::of(&numbers);
    assert!(nothing.apply(&text).similarity(&text) > 0.999);
    // Every row moves the request in the direction of the first dimension.
    for (row, number) in numbers.iter_mut().zip(text.numbers()) {
        row[0] = number * 10.0;
    }
    let moved = RequestMatrix::of(&numbers).apply(&text).numbers();
    assert!(moved[0] > 0.99, "{}", moved[0]);
    assert_eq!(
        nothing.as_bytes().len(),
        RequestMatrix::embedded().as_bytes().len()
    );
}

#[test]
fn rows_of_letters_are_told_from_words() {
    for text in [
        "qqqq",
        "asdf qwer zxcv",
        "1234567890",
        "",
        "!!",
        "xkcd vfr bhu nji",
        "qwerty asdfgh zxcvbn",
        "blorptastic",
        "a b c",
        "获取日期",
        "给我这个 YouTube 视频的文字稿",
        "наведи порядок",
    ] {
        assert!(ENCODER.embed_request(text).is_none(), "{text}");
    }
    for text in [
        "fetch",
        "qqqq file",
        "What's up?",
        "fetch 日期",
        "Größe einer Datei",
    ] {
        assert!(ENCODER.embed_request(text).is_some(), "{text}");
    }
}

#[test]
fn a_vector_comes_back_as_it_was_written_and_nothing_else_does() {
    let vector = ENCODER.embed("create an issue");
    let bytes = vector.to_bytes();
    assert_eq!(Vector::from_bytes(&bytes), Some(vector));
    assert_eq!(Vector::from_bytes(&bytes[1..]), None);
    assert_eq!(Vector::from_bytes(&[]), None);
    assert_eq!(Vector::from_bytes(&[0xff; Vector::BYTES]), None);
    assert_eq!(Vector::from_bytes(&[1; Vector::BYTES]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_has_bounded_tokens(text in "\\PC{0,300}|[a-z ]{0,3000}") {
        let tokens = ENCODER.tokens(&text);
        prop_assert!((2..=TOKEN_LIMIT).contains(&tokens.len()));
        prop_assert!(tokens.iter().all(|token| *token < 30_522));
    }
}
