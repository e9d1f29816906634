//! Tests of the contents and the content security policy of pages.

use std::sync::Arc;

use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use serde_json::Value;

use super::*;

fn table() -> Arc<Table> {
    let tables = Tables::new(Registry::standard());
    tables.table("faraway", 2, []).expect("the table exists")
}

/// Returns a page with ten plies of two players with these names.
fn replay(players: [&str; 2]) -> ReplayPage {
    let table = table();
    let (info, mut play) = (table.game.info(), Arc::clone(&table.game).deal(7.into()));
    let mut page =
        ReplayPage::new(info, &players.map(str::to_owned), "seed 7".to_owned(), Viewer::all(2).collect());
    for _ in 0..10 {
        page.show(info, &*play, "</script><script>alert()".to_owned()).expect("a position of the table");
        let seat = play.pending().iter().next().expect("the match continues");
        let action = play.legal(seat).iter().next().expect("there is a choice");
        play.apply(seat, action.into()).expect("the action is legal");
    }
    page
}

/// Returns the text between the first `begin` and the next `end`.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(begin).expect("the page contains the start");
    rest.split_once(end).expect("the page contains the end").0
}

#[test]
fn names_of_players_are_never_markup() {
    let page = replay(["</script><img src=x>", "\u{2028}\"'&"]).html();
    assert_eq!(page.matches("</script>").count(), 2, "one for the data, one for the script");
    let data: Value =
        serde_json::from_str(between(&page, "id=\"data\">", "</script>")).expect("the data is JSON");
    assert_eq!(data["title"], "faraway: </script><img src=x>, \u{2028}\"'&");
    assert_eq!(data["frames"][3]["caption"], "</script><script>alert()");
}

#[test]
fn a_page_runs_only_its_own_script() {
    let (live, header) = watch_page_html();
    for page in [replay(["a", "b"]).html(), live.clone()] {
        let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
        for (name, text) in [
            ("script", between(&page, "<script>", "</script>")),
            ("style", between(&page, "<style>", "</style>")),
        ] {
            let hash = BASE64.encode(digest(&SHA256, text.as_bytes()));
            assert!(policy.contains(&format!("{name}-src 'sha256-{hash}';")), "{policy}");
        }
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(policy.contains("connect-src 'self'"), page == live);
    }
    let policy = between(&live, "Content-Security-Policy\" content=\"", "\"");
    assert_eq!(header, format!("{policy}; frame-ancestors 'none'"));
}

#[test]
fn equal_texts_are_stored_once() {
    let page = replay(["a", "b"]);
    let data = serde_json::to_value(&page).expect("texts and numbers");
    for texts in ["parts", "lines"] {
        let all = data[texts].as_array().expect("a list");
        let distinct: std::collections::BTreeSet<_> = all.iter().map(Value::as_str).collect();
        assert_eq!(distinct.len(), all.len());
    }
    // In ten positions for three viewers each, most cards do not move.
    let placed: usize = page.frames.iter().flat_map(|frame| &frame.views).map(|view| view.parts.len()).sum();
    assert!(page.parts.strings.len() * 5 < placed, "{} parts for {placed} places", page.parts.strings.len());
}
