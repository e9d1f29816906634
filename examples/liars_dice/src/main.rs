//! The program of Boardwire with one more game.

fn main() -> std::process::ExitCode {
    boardwire::main(boardwire::Registry::standard().with::<liars_dice::LiarsDice>())
}
