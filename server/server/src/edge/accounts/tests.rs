use tempfile::TempDir;

use super::*;

fn write_accounts(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("accounts.toml");
    std::fs::write(&file, text).expect("the folder is writable");
    (folder, file)
}

fn account(name: &str, token: &str) -> String {
    format!("[[account]]\nname = '{name}'\ntokens = ['{}']\n", token_line(token))
}

/// Returns the name of the token's account.
fn name_of(accounts: &Accounts, token: &str) -> Result<&'static str, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(TOKEN_HEADER, token.parse().expect("a header"));
    let account = accounts.identify(&mut headers);
    assert!(headers.is_empty(), "the token is removed from the headers");
    account.map(|(account, _)| account.name())
}

#[test]
fn a_token_identifies_its_account() {
    let two = format!("[[account]]\nname = 'eve'\ntokens = ['{}', '{}']", token_line("c"), token_line("d"));
    let (_folder, file) = write_accounts(&[&account("ada", "a"), &account("bob", "b"), &*two].concat());
    let accounts = Accounts::load(file).expect("the file is valid");
    let names = ["a", "b", "c", "d"].map(|token| name_of(&accounts, token));
    assert_eq!(names, [Ok("ada"), Ok("bob"), Ok("eve"), Ok("eve")]);
    for wrong in ["", "e", "A", &token_line("a"), &"a".repeat(9_000)] {
        assert_eq!(name_of(&accounts, wrong), Err(Error::CallerTokenWrong), "{wrong}");
    }
    let missing = accounts.identify(&mut HeaderMap::new()).map(drop);
    assert_eq!(missing, Err(Error::CallerTokenMissing));
}

#[test]
fn an_error_about_an_invalid_file_repeats_none_of_its_values() {
    let good = account("ada", "a");
    for (text, problem) in [
        (String::new(), "line 1: missing field `account`"),
        ("account = []".to_owned(), "no account has a token"),
        ("[[account]]\nname = 'ada'\ntokens = []".to_owned(), "no account has a token"),
        ("[[account]]\nname = 'ada'\ntokens = 'secret'".to_owned(), "line 3: invalid type: string ..."),
        ("[[account]]\nname = 'ada'\ntokens = ['secret']".to_owned(), "account `ada`: a token must be"),
        ("[[account]]\nname = 'ada'\nsecret".to_owned(), "line 3: "),
        (format!("{good}match = 7"), "line 4: unknown field `match`"),
        (good.replace("ada", "the secret"), "account 1: the name must have"),
        ([&*good, &account("ada", "b")].concat(), "two accounts have the name `ada`"),
        ([&*good, &account("bob", "a")].concat(), "account `bob` has a token that is in the file twice"),
    ] {
        let (_folder, file) = write_accounts(&text);
        let error = Accounts::load(file.clone()).expect_err("the file is invalid");
        let expected = format!("accounts {}: {problem}", file.display());
        assert!(error.starts_with(&expected), "{text}\n{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    let missing = Accounts::load("/nowhere/accounts.toml".into()).expect_err("no such file");
    assert!(missing.starts_with("accounts /nowhere/accounts.toml: No such file"));
}

#[test]
fn a_reload_changes_tokens_and_quotas() {
    let (_folder, file) = write_accounts(&account("ada", "a"));
    let accounts = Accounts::load(file.clone()).expect("the file is valid");
    let mut headers = HeaderMap::new();
    headers.insert(TOKEN_HEADER, "a".parse().expect("a header"));
    let (ada, revoked) = accounts.identify(&mut headers).expect("the token is valid");
    accounts.reload().expect("the file is valid");
    assert!(!revoked.is_cancelled());
    assert_eq!((ada.quotas(), ada.rate().is_some()), (Quotas::default(), false));
    let quotas = "matches = 1\nenvironments = 2\ncalls = 3\n";
    std::fs::write(&file, [&account("ada", "new"), quotas].concat()).expect("the folder is writable");
    accounts.reload().expect("the file is valid");
    assert_eq!(name_of(&accounts, "a"), Err(Error::CallerTokenWrong));
    assert!(revoked.is_cancelled(), "open calls end");
    assert_eq!(name_of(&accounts, "new"), Ok("ada"));
    let expected = Quotas { matches: Some(1), environments: Some(2), calls: Some(3) };
    assert_eq!((ada.quotas(), ada.rate().is_some()), (expected, true));
    std::fs::write(&file, "").expect("the folder is writable");
    accounts.reload().expect_err("the file has no accounts");
    assert_eq!(name_of(&accounts, "new"), Ok("ada"));
}

#[test]
fn a_reload_keeps_counted_calls() {
    let (_folder, file) = write_accounts(&[&account("ada", "a"), "calls = 2\n"].concat());
    let accounts = Accounts::load(file).expect("the file is valid");
    let mut headers = HeaderMap::new();
    headers.insert(TOKEN_HEADER, "a".parse().expect("a header"));
    let (ada, _) = accounts.identify(&mut headers).expect("the token is valid");
    let calls = || ada.rate().expect("the account has a quota").check().is_ok();
    assert!(calls() && calls());
    accounts.reload().expect("the file is valid");
    assert!(!calls());
}

#[test]
fn debug_output_contains_no_token() {
    let (_folder, file) = write_accounts(&account("ada", "very-secret"));
    let accounts = Accounts::load(file).expect("the file is valid");
    let text = format!("{accounts:?} {:?}", accounts.table.read().expect("no panic").by_name);
    assert!(!text.contains("secret") && !text.contains(&token_line("very-secret")[7..]), "{text}");
}

#[test]
fn names_have_only_characters_that_files_and_logs_can_hold() {
    assert!(["a", "Ada-1_b.c", &"a".repeat(64)].iter().all(|name| is_valid_name(name)));
    assert!(!["", "a b", "é", "a\"", "a\n", &"a".repeat(65)].iter().any(|name| is_valid_name(name)));
}
