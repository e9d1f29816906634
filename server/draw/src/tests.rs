//! Tests of what a picture shows, and of what it depends on.

use std::sync::Arc;

use boardwire_batch::play::AnyEpisode;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_kernel::{GameInfo, RngStream, Seat, Viewer};

use super::draw;

/// Plays random choices, and passes every position to `look`.
fn each_position(game: &str, seats: u32, seed: u64, mut look: impl FnMut(&GameInfo, &dyn AnyEpisode)) {
    let tables = Tables::new(Registry::standard());
    let table = tables.table(game, seats, []).expect("there is such a table");
    let mut episode = Arc::clone(&table.game).deal(seed.into());
    let mut rng = RngStream::new(seed, 0);
    while let Some(seat) = episode.pending().iter().next() {
        look(table.game.info(), &*episode);
        let legal: Vec<u8> = episode.legal(seat).iter().collect();
        let choice = rng.below(u32::try_from(legal.len()).expect("few actions"));
        episode.apply(seat, legal[choice as usize].into()).expect("it is legal");
    }
    look(table.game.info(), &*episode);
}

fn view(info: &GameInfo, episode: &dyn AnyEpisode, viewer: Viewer) -> Vec<u8> {
    let mut view = vec![0; info.layout_for(viewer).bytes()];
    episode.view(viewer, &mut view);
    view
}

#[test]
fn every_position_of_every_game_can_be_drawn_for_every_viewer() {
    for game in boardwire_games::IDS {
        for seats in [2, 4] {
            each_position(game, seats, 7, |info, episode| {
                for viewer in Viewer::all(info.seats) {
                    let picture =
                        draw(info, viewer, &view(info, episode, viewer)).expect("a view of the table");
                    let (opened, closed) =
                        (picture.svg().matches("<g").count(), picture.svg().matches("</g>").count());
                    assert_eq!(opened, closed, "{game}");
                    assert!(
                        picture.parts.iter().all(|part| part.x < super::WIDTH && part.y < picture.height)
                    );
                }
            });
        }
    }
}

#[test]
fn hidden_information_does_not_change_a_picture() {
    for game in boardwire_games::IDS {
        let mut rng = RngStream::new(3, 0);
        each_position(game, 3, 11, |info, episode| {
            let seat = Seat::new(1);
            let other = episode.determinized(seat, &mut rng);
            for viewer in [Viewer::Seat(seat), Viewer::Public] {
                let [own, imagined] =
                    [episode, &*other].map(|position| draw(info, viewer, &view(info, position, viewer)));
                assert_eq!(own, imagined, "{game}, for {viewer}");
            }
        });
    }
}

#[test]
fn a_seat_sees_its_hand_and_the_public_does_not() {
    let mut seen = false;
    each_position("faraway", 2, 5, |info, episode| {
        let [own, public] = [Viewer::Seat(Seat::new(0)), Viewer::Public].map(|viewer| {
            draw(info, viewer, &view(info, episode, viewer)).expect("a view of the table").svg()
        });
        if episode.ply() == 0 {
            for region in episode.legal(Seat::new(0)) {
                let title = format!("<title>R{},", region + 1);
                assert!(own.contains(&title) && !public.contains(&title));
                seen = true;
            }
        }
    });
    assert!(seen, "there was a hand to look at");
}

#[test]
fn a_view_of_another_table_is_refused() {
    each_position("rauha", 2, 1, |info, episode| {
        let mut view = view(info, episode, Viewer::Public);
        view.pop();
        assert!(draw(info, Viewer::Public, &view).expect_err("it is too short").contains("bytes"));
    });
}

#[cfg(feature = "raster")]
#[test]
fn pixels_show_the_picture() {
    use super::raster;

    each_position("faraway", 2, 5, |info, episode| {
        if episode.ply() > 3 {
            return;
        }
        let picture =
            draw(info, Viewer::Public, &view(info, episode, Viewer::Public)).expect("a view of the table");
        let (width, height, rgb) = raster(&picture.svg(), None).expect("it is a picture");
        assert_eq!((width, height, rgb.len()), (super::WIDTH, picture.height, (width * height * 3) as usize));
        // The background, and the heading of seat 1.
        assert_eq!(rgb[..3], [0xf3, 0xf1, 0xec]);
        assert!(rgb.chunks(3).any(|pixel| pixel == [0xb3, 0x40, 0x2e]));
        // With a height: a greater one adds background below, a smaller one scales the picture down.
        for given in [picture.height + 100, picture.height / 2] {
            let (_, height, fitted) = raster(&picture.svg(), Some(given.into())).expect("it is a picture");
            assert_eq!((height, fitted.len()), (given, (width * given * 3) as usize));
            assert_eq!(fitted[..3], [0xf3, 0xf1, 0xec]);
            assert_eq!(fitted[fitted.len() - 3..], [0xf3, 0xf1, 0xec]);
            assert_eq!(fitted.starts_with(&rgb), given > picture.height);
        }
        for refused in [-1, 0, (1 << 15) + 1, i64::MAX] {
            let error = raster(&picture.svg(), Some(refused)).expect_err("it is out of range");
            assert_eq!(error.0, format!("`height` must be from 1 to 32768; got {refused}"));
        }
        // Letters are dark and thin. Without the font, the chips would have no words.
        assert!(rgb.chunks(3).filter(|pixel| *pixel == [0x2b, 0x2a, 0x27]).count() > 200);
    });
    assert!(raster("no picture", None).is_err());
}
