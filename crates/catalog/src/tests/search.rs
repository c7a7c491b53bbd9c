//! What is found, in which order, and what is suggested for wrong names.

use mcpproxy_embed::Vector;
use proptest::prelude::*;

use super::*;
use crate::meaning::TEXTS;

#[test]
fn filters_are_settled_before_the_page_is_cut() {
    let mut tools: Vec<ToolDefinition> = (0..100)
        .map(|number| {
            let annotations = json!({"destructiveHint": true});
            named(
                &format!("wipe_file_{number}"),
                "file file file",
                &annotations,
            )
        })
        .collect();
    for number in 0..5 {
        let annotations = json!({"readOnlyHint": true});
        tools.push(named(
            &format!("peek_{number}"),
            "looks at one file",
            &annotations,
        ));
    }
    tools.push(named(
        "touch",
        "changes a file",
        &json!({"readOnlyHint": false}),
    ));
    let catalog = catalog(vec![
        ("disk", tools),
        (
            "other",
            vec![named("file", "", &json!({"destructiveHint": true}))],
        ),
    ]);
    let snapshot = catalog.snapshot();
    let all = SearchQuery::new("file", 5);
    let table = [
        (all, 107),
        (
            SearchQuery {
                read_only_only: true,
                ..all
            },
            5,
        ),
        (
            SearchQuery {
                exclude_destructive: true,
                ..all
            },
            6,
        ),
        (
            SearchQuery {
                server: Some("other"),
                ..all
            },
            1,
        ),
        (
            SearchQuery {
                server: Some("nobody"),
                ..all
            },
            0,
        ),
        (SearchQuery { limit: 0, ..all }, 107),
        (
            SearchQuery {
                text: "",
                read_only_only: true,
                ..all
            },
            5,
        ),
    ];
    for (query, total) in table {
        let hits = snapshot.search(&query);
        assert_eq!(hits.total, total, "{query:?}");
        assert_eq!(
            names(&snapshot, &query).len(),
            total.min(query.limit),
            "{query:?}"
        );
    }
}

#[test]
fn the_same_servers_in_any_order_of_arrival_give_the_same_answers() {
    let orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0]];
    let answers = orders.map(|order| {
        let catalog = Catalog::new();
        for position in order {
            let (server, mut tools) = sample().remove(position);
            tools.reverse();
            configure(&catalog, server, Operator::default());
            catalog.replace(server, listing(vec![]));
            catalog.replace(server, listing(tools));
        }
        let snapshot = catalog.snapshot();
        let tools: Vec<String> = snapshot
            .tools()
            .map(|entry| entry.qualified().to_owned())
            .collect();
        let scores: Vec<(String, u64)> = ["create issue", "issue", "", "run a query"]
            .iter()
            .flat_map(|text| snapshot.search(&SearchQuery::new(text, 10)).hits)
            .map(|hit| (hit.tool.qualified().to_owned(), hit.score.to_bits()))
            .collect();
        (tools, scores)
    });
    assert!(answers[0].0.is_sorted());
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

#[test]
fn the_tool_that_is_meant_comes_first() {
    let catalog = catalog(sample());
    let snapshot = catalog.snapshot();
    let table = [
        ("github:create_issue", "github:create_issue"),
        ("GitLab:create_issue", "gitlab:create_issue"),
        ("create issue", "github:create_issue"),
        ("gitlab create an issue", "gitlab:create_issue"),
        ("list all of the issues", "github:list_issues"),
        ("repository removed", "github:delete_repo"),
        ("read urls", "gitlab:readURLs"),
        ("queries", "db:run"),
        ("", "db:run"),
        ("of the", "db:run"),
    ];
    for (text, expected) in table {
        assert_eq!(
            names(&snapshot, &SearchQuery::new(text, 3))[0],
            expected,
            "{text}"
        );
    }
    assert_eq!(snapshot.search(&SearchQuery::new("zebra", 5)).total, 0);
    let score = |text| snapshot.search(&SearchQuery::new(text, 1)).hits[0].score;
    assert!((score("db:run") - 1.0).abs() < f64::EPSILON);
    assert!(score("run") > 0.9 && score("") < f64::EPSILON);
}

#[test]
fn a_word_that_is_misspelt_finds_what_was_meant_and_says_less() {
    let snapshot = catalog(sample()).snapshot();
    let best = |text| {
        snapshot
            .search(&SearchQuery {
                explain: true,
                ..SearchQuery::new(text, 1)
            })
            .hits
    };
    let (right, wrong) = (best("removes"), best("remvoes"));
    assert_eq!(right[0].tool.qualified(), wrong[0].tool.qualified());
    assert!(wrong[0].score < right[0].score);
    let explanation = wrong[0].explanation.as_ref().unwrap();
    assert_eq!(explanation.words[0].meant.as_deref(), Some("removes"));
    assert!(explanation.similarity.is_none() && explanation.coverage > 0.0);
    assert!(best("zebrass").is_empty());
    // A token is not told the words of tools that it may not use.
    let rights = bounded(&["db"], &[]);
    let query = SearchQuery {
        rights: &rights,
        ..SearchQuery::new("remvoes", 5)
    };
    assert_eq!(snapshot.search(&query).total, 0);
}

/// Tools of one server: the words of those that a token may not use were taken for what it had misspelt.
#[test]
fn a_token_was_told_how_hidden_tools_spell_a_word() {
    let tools = vec![
        named("look", "Is the thing deployed?", &Value::Null),
        named(
            "act",
            "Starts a deployment, or one of many deployments.",
            &Value::Null,
        ),
    ];
    let snapshot = catalog(vec![("ops", tools)]).snapshot();
    let rights = bounded(&["ops"], &["ops:look"]);
    let search = |rights, text| {
        let query = SearchQuery {
            rights,
            explain: true,
            ..SearchQuery::new(text, 5)
        };
        let hits = snapshot.search(&query).hits;
        let words = hits
            .into_iter()
            .next()
            .map(|hit| hit.explanation.unwrap().words);
        words.map(|words| words[0].meant.clone().unwrap_or_default())
    };
    let everything = &Rights::Administrator;
    assert_eq!(
        search(everything, "deploymentz").as_deref(),
        Some("deployment")
    );
    assert_eq!(search(&rights, "deploymentz"), None);
    assert_eq!(search(&rights, "deployedd").as_deref(), Some("deployed"));
}

/// Words of tools that are hidden from a token used up what comparisons with words may cost, and so showed.
#[test]
fn hidden_words_cost_a_token_the_correction_of_its_own() {
    let hidden = (0..2_000).map(|number| {
        let letters = [number / 676, number / 26 % 26, number % 26]
            .map(|place| char::from(b'a' + u8::try_from(place).unwrap()));
        let word: String = letters.iter().collect();
        format!("screen{word}")
    });
    let hidden: Vec<String> = hidden.collect();
    let tools = hidden
        .chunks(20)
        .enumerate()
        .map(|(number, words)| named(&format!("tool_{number}"), &words.join(" "), &Value::Null));
    let shown = vec![named("screenshot", "Takes a picture.", &Value::Null)];
    let snapshot = catalog(vec![("hidden", tools.collect()), ("shown", shown)]).snapshot();
    let rights = bounded(&["shown"], &[]);
    for rights in [&rights, &Rights::Administrator] {
        let query = SearchQuery {
            rights,
            ..SearchQuery::new("screenqqq screenqqp screenqqz screnshot", 5)
        };
        let hits = snapshot.search(&query).hits;
        assert!(
            hits.iter()
                .any(|hit| hit.tool.qualified() == "shown:screenshot")
        );
    }
}

/// `ticket` was taken for `ticker`, as if a word that has synonyms were misspelt.
#[test]
fn a_word_with_synonyms_that_nothing_has_was_corrected() {
    let tools = vec![named("ticker_lookup", "Looks a ticker up.", &Value::Null)];
    let snapshot = catalog(vec![("stocks", tools)]).snapshot();
    assert_eq!(snapshot.search(&SearchQuery::new("ticket", 5)).total, 0);
}

#[test]
fn a_synonym_finds_what_is_called_otherwise_and_says_less() {
    let snapshot = catalog(sample()).snapshot();
    let best = |text| {
        let query = SearchQuery {
            explain: true,
            ..SearchQuery::new(text, 1)
        };
        snapshot.search(&query).hits
    };
    let (written, meant) = (best("delete repo"), best("erase project"));
    assert_eq!(written[0].tool.qualified(), "github:delete_repo");
    assert_eq!(meant[0].tool.qualified(), "github:delete_repo");
    assert!(meant[0].score < written[0].score);
    let words = &meant[0].explanation.as_ref().unwrap().words;
    let words: Vec<_> = words
        .iter()
        .map(|word| (&*word.word, word.meant.as_deref()))
        .collect();
    assert_eq!(
        words,
        [("erase", Some("delete")), ("project", Some("repo"))]
    );
    // One word counts once, however many of its synonyms a tool has.
    assert!(best("drop")[0].score <= best("delete")[0].score);
    // A token is not told the words of tools that it may not use.
    let rights = bounded(&["db"], &[]);
    let query = SearchQuery {
        rights: &rights,
        ..SearchQuery::new("erase", 5)
    };
    assert_eq!(snapshot.search(&query).total, 0);
}

#[test]
fn tags_and_the_values_of_parameters_are_searched() {
    let tools = vec![
        tool(
            &json!({"name": "plot", "description": "Draws.", "inputSchema": {"properties": {"kind": {"enum": ["histogram", "funnel"]}}}}),
        ),
        tool(
            &json!({"name": "sort", "description": "Sorts.", "inputSchema": {}, "_meta": {"dev.mcpproxy/definition": {"tags": ["accounting"]}}}),
        ),
    ];
    let snapshot = catalog(vec![("box", tools)]).snapshot();
    assert_eq!(
        names(&snapshot, &SearchQuery::new("funnel", 5)),
        ["box:plot"]
    );
    assert_eq!(
        names(&snapshot, &SearchQuery::new("accounting", 5)),
        ["box:sort"]
    );
}

#[test]
fn the_tools_of_the_gateway_stood_first_for_what_servers_do() {
    let own = vec![named(
        "prune-activity",
        "Removes old records of a file",
        &Value::Null,
    )];
    let servers = vec![named("erase", "Removes", &Value::Null)];
    let snapshot = catalog(vec![("mcpproxy", own), ("files", servers)]).snapshot();
    let found = snapshot
        .search(&SearchQuery::new("remove old file", 5))
        .hits;
    let order: Vec<&str> = found.iter().map(|hit| hit.tool.qualified()).collect();
    assert_eq!(order, ["files:erase", "mcpproxy:prune-activity"]);
    assert!(found[0].score >= found[1].score);
    let about = names(
        &snapshot,
        &SearchQuery::new("remove old activity of the gateway", 5),
    );
    assert_eq!(about[0], "mcpproxy:prune-activity");
    let filtered = SearchQuery {
        server: Some("mcpproxy"),
        ..SearchQuery::new("remove old file", 5)
    };
    assert_eq!(names(&snapshot, &filtered), ["mcpproxy:prune-activity"]);
}

/// A vector that points where a number says.
fn vector(number: usize) -> Vector {
    let mut numbers = [0.0; mcpproxy_embed::DIMENSIONS];
    numbers[number] = 1.0;
    Vector::of(&numbers)
}

#[test]
fn what_a_tool_means_is_found_without_a_word_in_common() {
    let snapshot = catalog(sample()).snapshot();
    for (number, entry) in snapshot.tools().enumerate() {
        // Two tools mean the same; all others something else. Some have no meaning yet.
        let place = if number < 2 { 0 } else { number };
        if number != 4 {
            let vectors = [(); TEXTS].map(|()| vector(place));
            entry.set_meaning(Meaning::new(vectors));
        }
    }
    let meant: Vec<&str> = snapshot
        .tools()
        .take(2)
        .map(|entry| entry.qualified())
        .collect();
    let meaning = vector(0);
    let query = SearchQuery {
        meaning: Some(&meaning),
        explain: true,
        ..SearchQuery::new("zebra crossing", 5)
    };
    let hits = snapshot.search(&query).hits;
    let found: Vec<&str> = hits.iter().map(|hit| hit.tool.qualified()).collect();
    assert_eq!(found, meant);
    assert!(hits.iter().all(|hit| hit.score > 0.5 && hit.score <= 1.0));
    assert_eq!(hits[0].explanation.as_ref().unwrap().similarity, Some(1.0));
    // Words still count: a tool without a meaning is found by them.
    let without = snapshot.tools().nth(4).unwrap();
    let named = SearchQuery {
        text: without.qualified(),
        ..query
    };
    assert_eq!(
        snapshot.search(&named).hits[0].tool.qualified(),
        without.qualified()
    );
}

/// A tool whose definition says that another one takes its place.
fn replaced_by(name: &str, description: &str, replacement: &str) -> ToolDefinition {
    tool(
        &json!({"name": name, "description": description, "inputSchema": {},
        "_meta": {"dev.mcpproxy/definition": {"deprecated": {"replacement": replacement}}}}),
    )
}

#[test]
fn a_deprecated_tool_stood_above_its_replacement() {
    let tools = vec![
        replaced_by("find-cards", "Finds cards by a text", "search-cards"),
        named("search-cards", "Looks through all of them", &Value::Null),
        replaced_by("seek-cards", "Seeks cards", "find-cards"),
        replaced_by("old-one", "Turns", "other-one"),
        replaced_by("other-one", "Turns", "old-one"),
        replaced_by("lost-cards", "Was lost", "nobody-has-it"),
    ];
    let catalog = catalog(vec![("cards", tools)]);
    let snapshot = catalog.snapshot();
    for text in [
        "find cards",
        "find-cards",
        "cards:find-cards",
        "seek cards",
        "finds by text",
    ] {
        let found = names(&snapshot, &SearchQuery::new(text, 2));
        assert_eq!(found[0], "cards:search-cards", "{text}");
        assert!(
            found[1].ends_with("k-cards") || found[1].ends_with("d-cards"),
            "{text}: {found:?}"
        );
    }
    let all = names(&snapshot, &SearchQuery::new("", 10));
    assert_eq!((all.len(), &*all[0]), (6, "cards:search-cards"));
    assert_eq!(names(&snapshot, &SearchQuery::new("turns", 5)).len(), 2);
    assert_eq!(
        names(&snapshot, &SearchQuery::new("lost", 5)),
        ["cards:lost-cards"]
    );
}

#[test]
fn scores_told_which_words_withheld_tools_have() {
    let own = || {
        vec![
            named("list_files", "Lists the files of a folder.", &Value::Null),
            named("payroll", "Opens a list.", &Value::Null),
            replaced_by("old_list", "Lists a folder", "mid_list"),
            named("new_list", "Shows what is there", &Value::Null),
        ]
    };
    let hidden = vec![
        named(
            "payroll_export",
            "Payroll, payroll and salaries of all of the staff",
            &Value::Null,
        ),
        named(
            "payroll_files",
            "Files of the payroll, in a folder",
            &Value::Null,
        ),
    ];
    let mut with_hidden = own();
    with_hidden.extend(hidden.clone());
    with_hidden.extend([
        replaced_by("mid_list", "Lists", "new_list"),
        replaced_by("secret_list", "Salaries in a folder", "new_list"),
    ]);
    let rights = bounded(
        &["files"],
        &[
            "files:list_files",
            "files:payroll",
            "files:old_list",
            "files:new_list",
        ],
    );
    let alone = catalog(vec![("files", own())]).snapshot();
    let beside = catalog(vec![("files", with_hidden), ("hr", hidden)]).snapshot();
    for text in [
        "payroll files",
        "list",
        "salaries folder",
        "payroll",
        "files:old_list",
        "mid list",
        "",
    ] {
        let query = SearchQuery {
            rights: &rights,
            ..SearchQuery::new(text, 10)
        };
        let scores = |snapshot: &Snapshot| -> Vec<(String, u64)> {
            let hits = snapshot.search(&query).hits.into_iter();
            let scores = hits.map(|hit| (hit.tool.qualified().to_owned(), hit.score.to_bits()));
            scores.collect()
        };
        assert_eq!(scores(&beside), scores(&alone), "{text}");
    }
}

#[test]
fn wrong_names_get_the_nearest_ones() {
    let catalog = catalog(sample());
    let snapshot = catalog.snapshot();
    let first = |name: &str| {
        snapshot
            .nearest_tools(name, &Rights::Administrator, |_| true)
            .into_iter()
            .next()
    };
    assert_eq!(first("github:create_isue").unwrap(), "github:create_issue");
    assert_eq!(first("hub:list_issues").unwrap(), "github:list_issues");
    assert_eq!(first("gitlab:issue-create").unwrap(), "gitlab:create_issue");
    assert_eq!(first("delete_repo").unwrap(), "github:delete_repo");
    // A tool of another server does something else, and what is far from all names is none of them.
    assert_eq!(first("gitlab:delete_repo"), None);
    assert_eq!(first("日本語"), None);
    assert_eq!(first(""), None);
    assert!(
        snapshot
            .nearest_tools("github:create", &Rights::Administrator, |_| true)
            .len()
            <= 3
    );
    assert_eq!(
        snapshot.nearest_servers("gitlib", &Rights::Administrator)[0],
        "gitlab"
    );
    assert!(
        snapshot
            .nearest_servers("zzz", &Rights::Administrator)
            .is_empty()
    );
}

proptest! {
    #[test]
    fn any_text_can_be_searched_for(text in any::<String>(), server in "\\PC{0,8}", limit in 0_usize..4) {
        let mut servers = sample();
        servers.push((&server, vec![named("x", &text, &Value::Null)]));
        let snapshot = catalog(servers).snapshot();
        names(&snapshot, &SearchQuery::new(&text, limit));
        names(&snapshot, &SearchQuery::new(&format!("{server}:{text}"), limit));
        prop_assert!(snapshot.nearest_tools(&text, &Rights::Administrator, |_| true).len() <= 3);
        prop_assert!(snapshot.nearest_servers(&text, &Rights::Administrator).len() <= 3);
    }
}

#[test]
fn a_pasted_document_is_cut_and_still_answered() {
    let catalog = catalog(sample());
    let text = format!("issues {}", "issue \u{1f600} ".repeat(100_000));
    assert_eq!(
        names(&catalog.snapshot(), &SearchQuery::new(&text, 5)).len(),
        3
    );
}
