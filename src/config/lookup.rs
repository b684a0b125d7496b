//! Looks settings up: the explicit value, else a variable.

use super::{SettingSource, no_control_characters, refuse};
use crate::error::Result;

pub(super) struct Lookup<'a> {
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The source of each setting so far.
    pub(super) sources: Vec<(&'static str, SettingSource)>,
}

impl Lookup<'_> {
    pub(super) fn text(
        &mut self,
        argument: Option<String>,
        parameter: &'static str,
        name: &'static str,
    ) -> Result<Option<String>> {
        let (value, source) = match argument {
            Some(value) if value.is_empty() => {
                return refuse(format!("{parameter} is empty; leave it out to read it from {name}"));
            }
            Some(value) => (Some(value), SettingSource::Explicit),
            // An empty variable counts as unset.
            None => (self.variable)(name)
                .filter(|value| !value.is_empty())
                .map_or((None, SettingSource::Default), |value| (Some(value), SettingSource::Variable(name))),
        };
        self.sources.push((parameter, source));
        value.map(|value| no_control_characters(value, self.giver())).transpose()
    }

    /// The parameter or the variable that gave the last value.
    pub(super) fn giver(&self) -> &'static str {
        match self.sources.last() {
            Some((_, SettingSource::Variable(name))) => name,
            Some((parameter, _)) => parameter,
            None => "",
        }
    }
}
