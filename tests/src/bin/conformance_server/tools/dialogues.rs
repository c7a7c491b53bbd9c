//! Tools that ask the client once.

use serde_json::{Value, json};

use super::{Call, Outcome, text};
use crate::ask::{Answers, ClientRequest};

const KEY: &str = "answer";

/// Needs a model behind the client, without asking it.
pub(super) fn missing_capability(call: &Call<'_>) -> Outcome {
    call.dialogue.require(&[ClientRequest::model(KEY, "", 1)])?;
    Ok(text("The client can be asked for a message of its model."))
}

pub(super) async fn sampling(call: &Call<'_>) -> Outcome {
    let question = ClientRequest::model(KEY, call.text("prompt")?, 100);
    let answers = call.dialogue.ask(&[question]).await?;
    Ok(text(format!("LLM response: {}", said(&answers[KEY]))))
}

pub(super) async fn elicitation(call: &Call<'_>) -> Outcome {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    let question = ClientRequest::form(KEY, call.text("message")?, &schema);
    let answers = call.dialogue.ask(&[question]).await?;
    Ok(text(format!("User response: {}", filled_in(&answers))))
}

pub(super) async fn defaults(call: &Call<'_>) -> Outcome {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "default": true },
        },
    });
    let question = ClientRequest::form(KEY, "Check what is filled in already", &schema);
    let answers = call.dialogue.ask(&[question]).await?;
    Ok(text(format!(
        "Elicitation completed: {}",
        filled_in(&answers)
    )))
}

pub(super) async fn enums(call: &Call<'_>) -> Outcome {
    let options = ["option1", "option2", "option3"];
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
        },
    });
    let question = ClientRequest::form(KEY, "Choose from each list", &schema);
    let answers = call.dialogue.ask(&[question]).await?;
    Ok(text(format!(
        "Elicitation completed: {}",
        filled_in(&answers)
    )))
}

/// Tells its progress first, so that the answer is a stream.
pub(super) async fn streaming(call: &Call<'_>) -> Outcome {
    call.progress(1.0, 2.0).await;
    let schema = json!({
        "type": "object",
        "properties": { "go": { "type": "boolean" } },
        "required": ["go"],
    });
    let question = ClientRequest::form(KEY, "Shall it go on?", &schema);
    let answers = call.dialogue.ask(&[question]).await?;
    call.progress(2.0, 2.0).await;
    Ok(text(format!(
        "Elicitation completed: {}",
        filled_in(&answers)
    )))
}

/// What a model said, as far as it is text.
pub(super) fn said(message: &Value) -> &str {
    let content = &message["content"];
    let first = content.get(0).unwrap_or(content);
    first["text"].as_str().unwrap_or("no text")
}

fn filled_in(answers: &Answers) -> String {
    let answer = &answers[KEY];
    let action = answer["action"].as_str().unwrap_or("none");
    format!("action={action}, content={}", answer["content"])
}

fn titled(noun: &str) -> Value {
    json!([
        { "const": "value1", "title": format!("First {noun}") },
        { "const": "value2", "title": format!("Second {noun}") },
        { "const": "value3", "title": format!("Third {noun}") },
    ])
}
