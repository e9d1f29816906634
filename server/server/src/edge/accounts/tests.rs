use tempfile::TempDir;

use super::*;

/// A file of accounts.
fn written(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("accounts.toml");
    std::fs::write(&file, text).expect("the folder is ours");
    (folder, file)
}

fn account(name: &str, token: &str) -> String {
    format!("[[account]]\nname = '{name}'\ntokens = ['{}']\n", line(token))
}

/// Whose token this is.
fn whose(accounts: &Accounts, token: &str) -> Result<&'static str, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(TOKEN, token.parse().expect("a header"));
    let account = accounts.identify(&mut headers);
    assert!(headers.is_empty(), "nobody else finds the token");
    account.map(|(account, _)| account.name())
}

#[test]
fn a_token_is_that_of_its_account() {
    let two = format!("[[account]]\nname = 'eve'\ntokens = ['{}', '{}']", line("c"), line("d"));
    let (_folder, file) = written(&[&account("ada", "a"), &account("bob", "b"), &*two].concat());
    let accounts = Accounts::load(file).expect("it is right");
    let names = ["a", "b", "c", "d"].map(|token| whose(&accounts, token));
    assert_eq!(names, [Ok("ada"), Ok("bob"), Ok("eve"), Ok("eve")]);
    for wrong in ["", "e", "A", &line("a"), &"a".repeat(9_000)] {
        assert_eq!(whose(&accounts, wrong), Err(Error::CallerTokenWrong), "{wrong}");
    }
    let missing = accounts.identify(&mut HeaderMap::new()).map(drop);
    assert_eq!(missing, Err(Error::CallerTokenMissing));
}

#[test]
fn a_file_that_cannot_be_is_refused_without_what_it_says() {
    let good = account("ada", "a");
    for (text, problem) in [
        (String::new(), "line 1: missing field `account`"),
        ("account = []".to_owned(), "no account has a token"),
        ("[[account]]\nname = 'ada'\ntokens = []".to_owned(), "no account has a token"),
        ("[[account]]\nname = 'ada'\ntokens = 'secret'".to_owned(), "line 3: invalid type: string ..."),
        (
            "[[account]]\nname = 'ada'\ntokens = ['secret']".to_owned(),
            "account `ada`: a token stands there as",
        ),
        ("[[account]]\nname = 'ada'\nsecret".to_owned(), "line 3: "),
        (format!("{good}match = 7"), "line 4: unknown field `match`"),
        (good.replace("ada", "the secret"), "account 1: a name has"),
        ([&*good, &account("ada", "b")].concat(), "two accounts are called `ada`"),
        ([&*good, &account("bob", "a")].concat(), "account `bob` has a token that stands in the file twice"),
    ] {
        let (_folder, file) = written(&text);
        let refused = Accounts::load(file.clone()).expect_err("it is wrong");
        let expected = format!("accounts {}: {problem}", file.display());
        assert!(refused.starts_with(&expected), "{text}\n{refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
    let missing = Accounts::load("/nowhere/accounts.toml".into()).expect_err("it is not there");
    assert!(missing.starts_with("accounts /nowhere/accounts.toml: No such file"));
}

#[test]
fn what_is_read_again_counts_from_then_on() {
    let (_folder, file) = written(&account("ada", "a"));
    let accounts = Accounts::load(file.clone()).expect("it is right");
    let mut headers = HeaderMap::new();
    headers.insert(TOKEN, "a".parse().expect("a header"));
    let (ada, revoked) = accounts.identify(&mut headers).expect("it is hers");
    accounts.reload().expect("it is right");
    assert!(!revoked.is_cancelled());
    assert_eq!((ada.quotas(), ada.rate().is_some()), (Quotas::default(), false));
    let quotas = "matches = 1\nenvironments = 2\ncalls = 3\n";
    std::fs::write(&file, [&account("ada", "new"), quotas].concat()).expect("the folder is ours");
    accounts.reload().expect("it is right");
    assert_eq!(whose(&accounts, "a"), Err(Error::CallerTokenWrong));
    assert!(revoked.is_cancelled(), "the calls under way end");
    assert_eq!(whose(&accounts, "new"), Ok("ada"));
    let expected = Quotas { matches: Some(1), environments: Some(2), calls: Some(3) };
    assert_eq!((ada.quotas(), ada.rate().is_some()), (expected, true));
    std::fs::write(&file, "").expect("the folder is ours");
    accounts.reload().expect_err("there are none");
    assert_eq!(whose(&accounts, "new"), Ok("ada"));
}

#[test]
fn what_was_counted_stays_counted_when_the_file_is_read_again() {
    let (_folder, file) = written(&[&account("ada", "a"), "calls = 2\n"].concat());
    let accounts = Accounts::load(file).expect("it is right");
    let mut headers = HeaderMap::new();
    headers.insert(TOKEN, "a".parse().expect("a header"));
    let (ada, _) = accounts.identify(&mut headers).expect("it is hers");
    let calls = || ada.rate().expect("there is a quota").check().is_ok();
    assert!(calls() && calls());
    accounts.reload().expect("it is right");
    assert!(!calls());
}

#[test]
fn nothing_shows_a_token() {
    let (_folder, file) = written(&account("ada", "very-secret"));
    let accounts = Accounts::load(file).expect("it is right");
    let shown = format!("{accounts:?} {:?}", accounts.current.read().expect("no panic").by_name);
    assert!(!shown.contains("secret") && !shown.contains(&line("very-secret")[7..]), "{shown}");
}

#[test]
fn names_can_stand_in_a_file_and_in_a_log() {
    assert!(["a", "Ada-1_b.c", &"a".repeat(64)].iter().all(|name| is_name(name)));
    assert!(!["", "a b", "é", "a\"", "a\n", &"a".repeat(65)].iter().any(|name| is_name(name)));
}
