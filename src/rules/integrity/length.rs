//! How long a list is that is written in the code.

use tree_sitter::Node;

use super::chain::split;
use super::syntax::{Source, children, is_comment};

/// How many elements a written list has.
pub(super) fn length(source: &Source, node: Node<'_>, known: &dyn Fn(&str) -> Option<u32>) -> Option<u32> {
    let mut node = node;
    for _ in 0..8 {
        let count = |node: Node<'_>| {
            let mut cursor = node.walk();
            u32::try_from(
                node.named_children(&mut cursor)
                    .filter(|c| !is_comment(c.kind()) && c.kind() != "attribute_item")
                    .count(),
            )
            .ok()
        };
        match node.kind() {
            "array_expression" | "list" | "tuple" | "set" | "array" | "dictionary" | "array_initializer"
            | "literal_value" => {
                let spread = children(node)
                    .iter()
                    .any(|child| child.kind().contains("spread") || child.kind().contains("splat"));
                return if spread { None } else { count(node) };
            }
            "composite_literal" | "array_creation_expression" => {
                node = node.child_by_field_name("body").or_else(|| node.child_by_field_name("value"))?;
            }
            "identifier" => return known(source.text(node)),
            "expression_list"
            | "parenthesized_expression"
            | "as_expression"
            | "satisfies_expression"
            | "type_assertion" => {
                node = node.named_child(0)?;
            }
            "reference_expression" | "await" => {
                node = node.child_by_field_name("value").or_else(|| node.named_child(0))?
            }
            "macro_invocation" if source.field(node, "macro") == "vec" => {
                let range = source.slice(node);
                let inner = range.start + 3..range.end.saturating_sub(1).max(range.start + 3);
                return u32::try_from(split(source, inner, &[","]).len()).ok();
            }
            "range_expression" => {
                let ends: Vec<u32> =
                    super::syntax::named(node).iter().filter_map(|n| source.text(*n).parse().ok()).collect();
                return match ends.as_slice() {
                    [from, to] => {
                        Some(to.saturating_sub(*from).saturating_add(u32::from(source.text(node).contains("..="))))
                    }
                    _ => None,
                };
            }
            "call" | "call_expression" | "method_invocation" => {
                let text = source.field(node, "function");
                let name = if text.is_empty() { source.field(node, "name") } else { text };
                if matches!(name, "range") {
                    let args: Vec<u32> = node
                        .child_by_field_name("arguments")
                        .map(super::syntax::named)
                        .unwrap_or_default()
                        .iter()
                        .filter_map(|n| source.text(*n).parse().ok())
                        .collect();
                    return match args.as_slice() {
                        [to] => Some(*to),
                        [from, to] => Some(to.saturating_sub(*from)),
                        _ => None,
                    };
                }
                let arguments = node.child_by_field_name("arguments")?;
                if matches!(name, "List.of" | "Arrays.asList" | "Stream.of" | "Set.of" | "of" | "asList") {
                    return count(arguments);
                }
                if matches!(
                    name,
                    "enumerate"
                        | "list"
                        | "sorted"
                        | "tuple"
                        | "reversed"
                        | "zip"
                        | "Object.entries"
                        | "Object.keys"
                        | "Object.values"
                ) {
                    node = arguments.named_child(0)?;
                    continue;
                }
                let callee = node.child_by_field_name("function")?;
                let method = [
                    source.field(callee, "field"),
                    source.field(callee, "property"),
                    source.field(callee, "attribute"),
                ]
                .concat();
                if !matches!(
                    method.as_str(),
                    "iter" | "into_iter" | "items" | "enumerate" | "entries" | "cloned" | "iter_mut"
                ) {
                    return None;
                }
                node = callee.child_by_field_name("value").or_else(|| callee.child_by_field_name("object"))?;
            }
            "object" => return count(node),
            _ => return None,
        }
    }
    None
}
