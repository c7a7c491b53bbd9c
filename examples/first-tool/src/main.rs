use mcpproxy_contract::prelude::*;

#[derive(Serialize, Deserialize, JsonSchema, Validate)]
struct Text {
    /// A text in English or German.
    #[garde(length(chars, min = 1, max = 10_000))]
    text: String,
}

struct DetectLanguage;

impl Tool for DetectLanguage {
    const NAME: &'static str = "detect-language";
    type Category = Analysis;
    type Params = Text;
    type Output = String;

    fn definition() -> Definition<Self> {
        Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &[])
            .what("Tells whether a text is English or German")
            .when("an answer has to be in the language of a message")
            .returns("the code of the language, en or de")
            .example("answer a guest", json!({ "text": "der Gast" }), json!("de"))
            .tagged(&["text", "language"])
    }

    async fn call(&self, params: &Text, _: &ToolContext) -> Result<ToolOutput<String>, ToolError> {
        let words = params.text.split_whitespace();
        let count = |list: &[&str]| words.clone().filter(|word| list.contains(word)).count() as u64;
        let (en, de) = (count(&["the", "and", "is"]), count(&["der", "und", "ist"]));
        let evidence = Evidence::new(SourceQuality::Medium, agreement(en.max(de), en + de));
        let code = if en > de { "en" } else { "de" };
        Ok(ToolOutput::new(code.into(), found(&evidence, "a language")))
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    Ok(mcpproxy_contract_serve::serve_stdio(Service::of(DetectLanguage)?).await?)
}
