//! Pages for browsers: the replay of a match in one file, and the watch page, which shows the matches of a server.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use boardwire_batch::play::AnyEpisode;
use boardwire_draw::{Part, WIDTH, draw};
use boardwire_kernel::{GameInfo, Seat, Viewer};
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::{Value, json};

const HTML_TEMPLATE: &str = include_str!("page/page.html");
const CSS: &str = include_str!("page/page.css");
/// The script of every page.
const SCRIPT: &str = include_str!("page/page.js");
/// The script of the watch page.
const WATCH_SCRIPT: &str = concat!(include_str!("page/page.js"), include_str!("page/watch.js"));
/// The addition to the policy that lets the watch page connect to its own server.
const CONNECT_SELF_DIRECTIVE: &str = "; connect-src 'self'";

/// The replay page of an ended match: every position as each viewer saw it. Equal texts are stored once.
#[derive(Debug, Serialize)]
pub struct ReplayPage {
    title: String,
    #[serde(rename = "about")]
    description: String,
    width: u32,
    #[serde(rename = "viewers")]
    viewer_names: Vec<String>,
    parts: StringTable,
    lines: StringTable,
    frames: Vec<PageFrame>,
    scores: Vec<Value>,
    #[serde(skip)]
    viewers: Vec<Viewer>,
    #[serde(skip)]
    players: Vec<String>,
}

/// One position.
#[derive(Debug, Serialize)]
struct PageFrame {
    /// The decision that led to the position.
    caption: String,
    /// The position as each viewer sees it.
    views: Vec<View>,
}

/// One position as one viewer sees it.
#[derive(Debug, Serialize)]
struct View {
    height: u32,
    name: String,
    /// The parts of the picture: for each the index in `parts`, and its x and y.
    #[serde(rename = "drawn")]
    parts: Vec<(usize, u32, u32)>,
    /// The lines that describe the position, as indices in `lines`.
    text: Vec<usize>,
}

/// A table of distinct texts: equal texts share an index.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
struct StringTable {
    strings: Vec<String>,
    #[serde(skip)]
    indices: BTreeMap<String, usize>,
}

impl StringTable {
    /// Returns the index of a text. Adds the text if it is new.
    fn index_of(&mut self, text: &str) -> usize {
        if let Some(&index) = self.indices.get(text) {
            return index;
        }
        self.strings.push(text.to_owned());
        self.indices.insert(text.to_owned(), self.strings.len() - 1);
        self.strings.len() - 1
    }
}

impl ReplayPage {
    /// Creates a page without positions, for a match of these players and for these viewers.
    #[must_use]
    pub fn new(info: &GameInfo, players: &[String], description: String, viewers: Vec<Viewer>) -> Self {
        let name = |viewer: &Viewer| match viewer {
            Viewer::Public => "public view".to_owned(),
            Viewer::Seat(seat) => format!("{seat} ({})", players[seat.index()]),
        };
        Self {
            title: format!("{}: {}", info.id.replace('_', " "), players.join(", ")),
            description,
            width: WIDTH,
            viewer_names: viewers.iter().map(name).collect(),
            parts: StringTable::default(),
            lines: StringTable::default(),
            frames: Vec::new(),
            scores: Vec::new(),
            viewers,
            players: players.to_vec(),
        }
    }

    /// Adds a position. `caption` describes the decision that led to it.
    ///
    /// # Errors
    /// The position belongs to another table.
    pub fn show(&mut self, info: &GameInfo, play: &dyn AnyEpisode, caption: String) -> Result<(), String> {
        let mut views = Vec::new();
        for viewer in self.viewers.clone() {
            let mut view = vec![0; info.layout_for(viewer).bytes()];
            play.view(viewer, &mut view);
            views.push(self.view(info, viewer, &view, &play.text(viewer))?);
        }
        self.frames.push(PageFrame { caption, views });
        Ok(())
    }

    /// Adds a position to a page with one viewer, only from that viewer's view.
    ///
    /// # Errors
    /// The view belongs to another table.
    pub fn show_view(&mut self, info: &GameInfo, view: &[u8], caption: String) -> Result<(), String> {
        let views = vec![self.view(info, self.viewers[0], view, "")?];
        self.frames.push(PageFrame { caption, views });
        Ok(())
    }

    fn view(&mut self, info: &GameInfo, viewer: Viewer, view: &[u8], text: &str) -> Result<View, String> {
        let picture = draw(info, viewer, view)?;
        let part = |part: &Part| (self.parts.index_of(&part.svg), part.x, part.y);
        let parts = picture.parts.iter().map(part).collect();
        let text = text.lines().map(|line| self.lines.index_of(line)).collect();
        Ok(View { height: picture.height, name: picture.title, parts, text })
    }

    /// Adds the scores, if the match ended by the rules.
    pub fn end(&mut self, play: &dyn AnyEpisode) {
        let Some(outcome) = play.outcome() else { return };
        for (number, player) in (0..).zip(&self.players) {
            let seat = Seat::new(number);
            let lines = play.explain(seat).into_iter();
            let lines = lines.map(|line| json!({"source": line.source, "points": line.points}));
            self.scores.push(json!({
                "name": format!("{seat} ({player})"),
                "place": outcome.ranks()[seat.index()].to_string(),
                "points": outcome.scores()[seat.index()].to_string(),
                "lines": lines.collect::<Vec<_>>(),
            }));
        }
    }

    /// Returns the page as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        // A `<` in a text could end the script element.
        let data = serde_json::to_string(self).expect("texts and numbers").replace('<', "\\u003c");
        page(SCRIPT, &data, "")
    }
}

/// Returns the watch page, and its content security policy as a header. The header also forbids frames.
pub(crate) fn watch_page_html() -> (String, String) {
    (
        page(WATCH_SCRIPT, "null", CONNECT_SELF_DIRECTIVE),
        policy(WATCH_SCRIPT, CONNECT_SELF_DIRECTIVE) + "; frame-ancestors 'none'",
    )
}

/// Returns a content security policy that allows only the page's own script and style, and the `additions`.
fn policy(script: &str, additions: &str) -> String {
    let hash = |text: &str| BASE64.encode(digest(&SHA256, text.as_bytes()));
    let (script, style) = (hash(script), hash(CSS));
    format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; base-uri 'none'; \
         form-action 'none'{additions}"
    )
}

fn page(script: &str, data: &str, additions: &str) -> String {
    HTML_TEMPLATE
        .replace("{{policy}}", &policy(script, additions))
        .replace("{{style}}", CSS)
        .replace("{{script}}", script)
        .replace("{{data}}", data)
}

#[cfg(test)]
mod tests;
