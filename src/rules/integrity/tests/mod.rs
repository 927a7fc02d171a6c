//! Pairs of before and after, what the survey says, and bounds.

mod bounds;
mod pairs;
mod survey;
