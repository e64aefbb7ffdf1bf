//! The classes that models tell apart.
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::store::manifest::LabelSummary;
use crate::targets::{TargetError, fail, position_of};

/// Labels and names of classes, in the order in which models have them. Each of many models knows all classes, so
/// clones share them.
#[derive(Clone, Debug)]
pub struct Classes(Arc<Searched>);

/// What is known of classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassList {
    /// The label of each class in the store.
    pub labels: Vec<f64>,
    /// What it is called.
    pub names: Vec<String>,
    /// What the losses of its rows are multiplied by.
    pub weights: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Searched {
    list: ClassList,
    /// Classes with ascending labels.
    by_label: Vec<u32>,
}

impl Deref for Classes {
    type Target = ClassList;

    fn deref(&self) -> &ClassList {
        &self.0.list
    }
}

impl From<ClassList> for Classes {
    fn from(mut list: ClassList) -> Self {
        // -0 is 0.
        list.labels.iter_mut().for_each(|label| *label += 0.0);
        let mut by_label: Vec<u32> = (0..list.labels.len() as u32).collect();
        by_label.sort_by(|&a, &b| list.labels[a as usize].total_cmp(&list.labels[b as usize]));
        // Of classes with one label, which only a file can have, the first one is meant.
        by_label.dedup_by(|b, a| list.labels[*a as usize] == list.labels[*b as usize]);
        Classes(Arc::new(Searched { list, by_label }))
    }
}

impl PartialEq for Classes {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.list == other.0.list
    }
}

impl Serialize for Classes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.list.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Classes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(ClassList::deserialize(deserializer)?.into())
    }
}

impl Classes {
    /// Classes with these labels, names and weights.
    pub fn new(labels: Vec<f64>, names: Vec<String>, weights: Vec<f64>) -> Self {
        ClassList { labels, names, weights }.into()
    }

    /// The classes of a store: by number, or by name where labels are text.
    pub fn of(labels: &LabelSummary) -> Result<Classes, TargetError> {
        let Some(histogram) = &labels.histogram else {
            return fail(
                "the labels are numbers with very many values".into(),
                "use a regression loss such as `loss(squared)`",
            );
        };
        let name = |label: f64| match labels.names.as_ref().and_then(|names| names.get(label as usize)) {
            Some(name) => name.clone(),
            None => format!("{label}"),
        };
        let mut classes: Vec<(String, f64)> = histogram.iter().map(|&(label, _)| (name(label), label)).collect();
        if labels.names.is_some() {
            classes.sort_by(|a, b| a.0.cmp(&b.0));
        } else {
            classes.sort_by(|a, b| a.1.total_cmp(&b.1));
        }
        if classes.len() < 2 {
            let only = classes.first().map_or("", |class| class.0.as_str());
            return fail(format!("all rows have the label '{only}'"), "a classifier needs rows of two classes");
        }
        let weights = vec![1.0; classes.len()];
        let (names, labels) = classes.into_iter().unzip();
        Ok(Classes::new(labels, names, weights))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Whether each class has a label, a name and a weight, as one from a file may not.
    pub fn is_whole(&self) -> bool {
        self.labels.len() == self.names.len() && self.labels.len() == self.weights.len()
    }

    /// The class of a label.
    pub fn find(&self, label: f64) -> Option<usize> {
        let by_label = |&class: &u32| self.labels[class as usize].total_cmp(&(label + 0.0));
        let at = self.0.by_label.binary_search_by(by_label).ok()?;
        Some(self.0.by_label[at] as usize)
    }

    /// The class that is called so, also if its number is written otherwise.
    pub fn named(&self, name: &str) -> Option<usize> {
        position_of(&self.names, name)
    }

    /// What the losses of their rows are multiplied by, to be changed here alone.
    pub fn weights_mut(&mut self) -> &mut [f64] {
        self.names_and_weights().1
    }

    /// Names, and weights to be changed here alone.
    pub(crate) fn names_and_weights(&mut self) -> (&[String], &mut [f64]) {
        let list = &mut Arc::make_mut(&mut self.0).list;
        (&list.names, &mut list.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(labels: &[f64]) -> Classes {
        let names = labels.iter().map(f64::to_string).collect();
        Classes::new(labels.to_vec(), names, vec![1.0; labels.len()])
    }

    #[test]
    fn labels_are_found_in_any_order() {
        let labels = [3.0, -1.0, -0.0, 7.5, 1e300];
        let known = classes(&labels);
        for (class, label) in labels.into_iter().enumerate() {
            assert_eq!(known.find(label), Some(class));
        }
        assert_eq!((known.find(0.0), known.find(2.0), known.find(f64::NAN)), (Some(2), None, None));
        assert_eq!(classes(&[5.0, 5.0]).find(5.0), Some(0));
    }

    #[test]
    fn clones_share_until_one_is_changed() {
        let known = classes(&[1.0, 2.0]);
        let mut other = known.clone();
        assert!(Arc::ptr_eq(&known.0, &other.0));
        other.weights_mut()[1] = 3.0;
        assert_eq!((known.weights[1], other.weights[1]), (1.0, 3.0));
        assert_ne!(known, other);
        let text = serde_json::to_string(&other).unwrap();
        assert_eq!(text, r#"{"labels":[1.0,2.0],"names":["1","2"],"weights":[1.0,3.0]}"#);
        assert_eq!(serde_json::from_str::<Classes>(&text).unwrap(), other);
    }
}
