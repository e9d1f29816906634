//! Snapshots from outside.

use boardwire_kernel::testkit::{self, Shown};
use boardwire_kernel::{RESAMPLE_STREAM, RngStream, Seat};
use borsh::BorshDeserialize as _;

use super::super::{GoldenCompass, State};

#[test]
fn a_snapshot_with_broken_bytes_is_refused_or_harmless() {
    let game = testkit::table::<GoldenCompass>(3, &[]);
    let mut rng = RngStream::new(4, RESAMPLE_STREAM);
    let mut accepted = 0;
    testkit::random_game(&game, 12, |episode| {
        let bytes = borsh::to_vec(episode.state()).expect("memory");
        for _ in 0..60 {
            let mut broken = bytes.clone();
            let at = rng.below(u32::try_from(broken.len()).expect("small")) as usize;
            broken[at] = u8::try_from(rng.below(256)).expect("a byte");
            let Ok(state) = State::try_from_slice(&broken) else {
                continue;
            };
            if game.audit(&state).is_err() {
                continue;
            }
            accepted += 1;
            for seat in Seat::all(3) {
                let _ = Shown::to(&*game, &state, seat);
                let mut world = state;
                game.resample(&mut world, seat, &mut rng);
                let _ = game.estimate(&world, seat);
                let mut sketch = state;
                game.sketch(&mut sketch, seat, &mut rng);
                game.resample(&mut sketch, seat, &mut rng);
            }
        }
    });
    assert!(accepted > 0, "turn numbers may be anything");
}
