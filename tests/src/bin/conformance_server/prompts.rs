//! The prompts that the suite gets, and the completion of their arguments.

use std::sync::atomic::Ordering;

use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, ErrorData,
    GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Reference, Role,
};
use serde_json::{Value, json};

use crate::ask::{ClientRequest, Dialogue, Stop};
use crate::state::Shared;
use crate::tools::content::RED_PIXEL;

/// What an argument may begin with is completed from these.
const WORDS: [&str; 6] = ["paris", "park", "party", "test", "test-value", "testing"];

/// The prompts as they are now.
pub(crate) fn all(shared: &Shared) -> Vec<Prompt> {
    let revision = shared.prompt_revision.load(Ordering::SeqCst);
    let changing = format!("A prompt whose description changes. Revision {revision}.");
    vec![
        prompt("test_simple_prompt", "A prompt without arguments.", &[]),
        prompt(
            "test_prompt_with_arguments",
            "A prompt that repeats its arguments.",
            &[
                ("arg1", "First test argument"),
                ("arg2", "Second test argument"),
            ],
        ),
        prompt(
            "test_prompt_with_embedded_resource",
            "A prompt with a resource in it.",
            &[("resourceUri", "URI of the resource to embed")],
        ),
        prompt(
            "test_prompt_with_image",
            "A prompt with an image in it.",
            &[],
        ),
        prompt(
            "test_input_required_result_prompt",
            "A prompt that asks the user for its context.",
            &[],
        ),
        prompt("test_changing_prompt", &changing, &[]),
    ]
}

/// The messages of a prompt.
pub(crate) async fn get(
    dialogue: &Dialogue<'_>,
    arguments: &JsonObject,
) -> Result<GetPromptResult, Stop> {
    let messages = match dialogue.owner {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument(arguments, "arg1")?, argument(arguments, "arg2")?);
            vec![text(format!(
                "Prompt with arguments: arg1='{first}', arg2='{second}'"
            ))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = argument(arguments, "resourceUri")?;
            let resource =
                ContentBlock::embedded_text(uri, "Embedded resource content for testing.");
            let ask = text("Please process the embedded resource above.");
            vec![PromptMessage::new(Role::User, resource), ask]
        }
        "test_prompt_with_image" => {
            let image = ContentBlock::image(RED_PIXEL, "image/png");
            let ask = text("Please analyze the image above.");
            vec![PromptMessage::new(Role::User, image), ask]
        }
        "test_input_required_result_prompt" => vec![text(with_context(dialogue).await?)],
        "test_changing_prompt" => {
            let revision = dialogue.shared.prompt_revision.load(Ordering::SeqCst);
            vec![text(format!("Revision {revision}."))]
        }
        other => {
            let message = format!("Unknown prompt: {other}");
            return Err(ErrorData::invalid_params(message, None).into());
        }
    };
    Ok(GetPromptResult::new(messages))
}

/// What an argument of a prompt or a template may go on with.
pub(crate) fn complete(request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let begun = &request.argument.value;
    let values: Vec<String> = match &request.r#ref {
        Reference::Prompt(prompt) if prompt.name == "test_prompt_with_arguments" => WORDS
            .iter()
            .filter(|word| word.starts_with(begun.as_str()))
            .map(|word| (*word).to_owned())
            .collect(),
        _ => Vec::new(),
    };
    let completion = CompletionInfo::with_all_values(values)
        .map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(completion))
}

async fn with_context(dialogue: &Dialogue<'_>) -> Result<String, Stop> {
    let schema = json!({
        "type": "object",
        "properties": { "context": { "type": "string" } },
        "required": ["context"],
    });
    let message = "What context should the prompt use?";
    let question = ClientRequest::form("user_context", message, &schema);
    let answers = dialogue.ask(&[question]).await?;
    let answer = &answers["user_context"];
    Ok(match answer["content"]["context"].as_str() {
        Some(context) => format!("Use this context: {context}"),
        None => "There is no context.".to_owned(),
    })
}

fn prompt(name: &str, description: &str, arguments: &[(&str, &str)]) -> Prompt {
    let arguments: Vec<PromptArgument> = arguments
        .iter()
        .map(|(name, description)| {
            PromptArgument::new(*name)
                .with_description(*description)
                .with_required(true)
        })
        .collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    Prompt::new(name, Some(description), arguments)
}

fn argument<'a>(arguments: &'a JsonObject, name: &str) -> Result<&'a str, ErrorData> {
    arguments.get(name).and_then(Value::as_str).ok_or_else(|| {
        let message = format!("The argument '{name}' is missing; give it as a string");
        ErrorData::invalid_params(message, None)
    })
}

fn text(text: impl Into<String>) -> PromptMessage {
    PromptMessage::new_text(Role::User, text)
}
