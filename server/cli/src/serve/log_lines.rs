//! The log on standard error: one line for each event, and no more of them than a disk takes.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::observing::LogFormat;

/// The most lines of level `info` in a second: callers cause them. Warnings and errors are limited where they arise.
const MOST_LINES: u32 = 100;
const SECOND: Duration = Duration::from_secs(1);

/// Where lines go.
pub(super) struct LogLines {
    format: LogFormat,
    second: Mutex<Second>,
}

/// The present second.
#[derive(Default)]
struct Second {
    began: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Second {
    /// Whether a line may be written at `now`, and how many were left out in the second that has ended.
    fn pass(&mut self, now: Instant, is_limited: bool) -> (bool, u64) {
        let mut left_out = 0;
        if self.began.is_none_or(|began| now.saturating_duration_since(began) >= SECOND) {
            left_out = self.left_out;
            *self = Self { began: Some(now), ..Self::default() };
        }
        self.lines += u32::from(is_limited && self.lines < u32::MAX);
        let passes = !is_limited || self.lines <= MOST_LINES;
        self.left_out += u64::from(!passes);
        (passes, left_out)
    }
}

impl LogLines {
    pub(super) fn new(format: LogFormat) -> Self {
        Self { format, second: Mutex::default() }
    }
}

/// Writes one event.
pub(super) struct LogLine<'a> {
    lines: &'a LogLines,
    is_limited: bool,
}

impl<'a> MakeWriter<'a> for LogLines {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> LogLine<'a> {
        LogLine { lines: self, is_limited: false }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> LogLine<'a> {
        LogLine { lines: self, is_limited: *about.level() == Level::INFO }
    }
}

impl Write for LogLine<'_> {
    /// Takes a whole event.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let mut second = self.lines.second.lock().unwrap_or_else(PoisonError::into_inner);
        let (passes, left_out) = second.pass(Instant::now(), self.is_limited);
        drop(second);
        let mut to = io::stderr().lock();
        if left_out > 0 {
            match self.lines.format {
                LogFormat::Text => writeln!(to, " WARN {left_out} lines were left out")?,
                LogFormat::Json => {
                    let fields = serde_json::json!({"message": "lines were left out", "lines": left_out});
                    writeln!(to, "{}", serde_json::json!({"level": "WARN", "fields": fields}))?;
                }
            }
        }
        if passes {
            let text = String::from_utf8_lossy(event);
            writeln!(to, "{}", escaped(text.strip_suffix('\n').unwrap_or(&text)))?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A line in which no caller's text begins another one, or moves a terminal's cursor.
fn escaped(line: &str) -> Cow<'_, str> {
    if !line.contains(char::is_control) {
        return line.into();
    }
    let mut text = String::with_capacity(line.len() + 8);
    for char in line.chars() {
        if char.is_control() {
            text.extend(char.escape_default());
        } else {
            text.push(char);
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_begins_no_line_of_its_own() {
        assert_eq!(escaped("one\ntwo\r\u{8}\u{9b}1m\u{1b}[32m"), r"one\ntwo\r\u{8}\u{9b}1m\u{1b}[32m");
        assert_eq!(escaped("Ä sound line"), "Ä sound line");
    }

    #[test]
    fn a_second_has_so_many_lines_and_the_next_counts_those_left_out() {
        let (mut second, start) = (Second::default(), Instant::now());
        let passed = (0..150).filter(|_| second.pass(start, true).0).count();
        assert_eq!(passed, 100);
        assert_eq!(second.pass(start + SECOND / 2, true), (false, 0));
        assert_eq!(second.pass(start + SECOND / 2, false), (true, 0), "warnings are not limited");
        assert_eq!(second.pass(start + SECOND, false), (true, 51));
        assert_eq!(second.pass(start + 2 * SECOND, true), (true, 0));
    }
}
