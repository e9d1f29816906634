//! Tests of the bots through their public interface.

mod choices;
mod strength;
