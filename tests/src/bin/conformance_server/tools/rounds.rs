//! Tools that take several rounds: they ask more than once, for more than one thing, or keep something in between.

use serde_json::{Value, json};

use super::dialogues::said;
use super::{Call, Outcome, text};
use crate::ask::{Answers, ClientRequest};

pub(super) async fn elicitation(call: &Call<'_>) -> Outcome {
    let answers = call.dialogue.ask(&[name("user_name")]).await?;
    Ok(text(format!(
        "Hello, {}!",
        field(&answers, "user_name", "name")
    )))
}

pub(super) async fn sampling(call: &Call<'_>) -> Outcome {
    let question = ClientRequest::model("capital_question", "What is the capital of France?", 100);
    let answers = call.dialogue.ask(&[question]).await?;
    Ok(text(said(&answers["capital_question"])))
}

pub(super) async fn list_roots(call: &Call<'_>) -> Outcome {
    let answers = call
        .dialogue
        .ask(&[ClientRequest::roots("client_roots")])
        .await?;
    Ok(text(format!(
        "The roots of the client: {}",
        roots(&answers)
    )))
}

pub(super) async fn request_state(call: &Call<'_>) -> Outcome {
    let schema = json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"],
    });
    let question = ClientRequest::form("confirm", "Please confirm", &schema);
    let answers = call
        .dialogue
        .ask_with_state(&[question], Answers::new())
        .await?;
    let action = answers["confirm"]["action"].as_str().unwrap_or("none");
    Ok(text(format!("state-ok: {action}")))
}

pub(super) async fn multiple_inputs(call: &Call<'_>) -> Outcome {
    let questions = [
        name("user_name"),
        ClientRequest::model("greeting", "Generate a greeting", 50),
        ClientRequest::roots("client_roots"),
    ];
    let answers = call
        .dialogue
        .ask_with_state(&questions, Answers::new())
        .await?;
    Ok(text(format!(
        "{} {}, your roots are {}",
        said(&answers["greeting"]),
        field(&answers, "user_name", "name"),
        roots(&answers),
    )))
}

pub(super) async fn multi_round(call: &Call<'_>) -> Outcome {
    let earlier = call.dialogue.opened()?.unwrap_or_default().answers;
    let first = if earlier.contains_key("step1") {
        earlier
    } else {
        let question = form("step1", "Step 1: What is your name?", "name");
        call.dialogue
            .ask_with_state(&[question], Answers::new())
            .await?
    };
    let person = field(&first, "step1", "name").to_owned();
    let question = form("step2", "Step 2: What is your favorite color?", "color");
    let second = call.dialogue.ask_with_state(&[question], first).await?;
    let color = field(&second, "step2", "color");
    Ok(text(format!("{person} likes {color}.")))
}

/// Asks for everything that the client can be asked for.
pub(super) async fn capabilities(call: &Call<'_>) -> Outcome {
    let mut questions = vec![
        name("user_name"),
        ClientRequest::model("greeting", "Generate a greeting", 50),
        ClientRequest::roots("client_roots"),
    ];
    questions.retain(|question| call.dialogue.can(question));
    if questions.is_empty() {
        return Ok(text("The client cannot be asked for anything."));
    }
    let answers = call.dialogue.ask(&questions).await?;
    let keys: Vec<&str> = answers.keys().map(String::as_str).collect();
    Ok(text(format!("The client answered: {}", keys.join(", "))))
}

fn name(key: &'static str) -> ClientRequest {
    form(key, "What is your name?", "name")
}

/// A form with one text.
pub(super) fn form(key: &'static str, message: &str, field: &str) -> ClientRequest {
    let schema = json!({
        "type": "object",
        "properties": { field: { "type": "string" } },
        "required": [field],
    });
    ClientRequest::form(key, message, &schema)
}

/// What a user wrote into a field; one who did not want to write gets a name all the same.
fn field<'a>(answers: &'a Answers, key: &str, field: &str) -> &'a str {
    let answer = &answers[key];
    answer["content"][field].as_str().unwrap_or("somebody")
}

fn roots(answers: &Answers) -> String {
    let roots = answers["client_roots"]["roots"].as_array();
    let uris = roots.into_iter().flatten().map(|root| &root["uri"]);
    let uris: Vec<&str> = uris.filter_map(Value::as_str).collect();
    uris.join(", ")
}
