//! The names that each grammar gives to the shapes that the walk through a body looks at.

use super::model::Language;

pub(super) struct Shapes {
    pub blocks: &'static [&'static str],
    pub ifs: &'static [&'static str],
    pub each: &'static [&'static str],
    /// Field of the loop that holds what it runs over.
    pub each_over: &'static str,
    pub whiles: &'static [&'static str],
    pub tries: &'static [&'static str],
    pub handlers: &'static [&'static str],
    pub ends: &'static [&'static str],
    pub returns: &'static [&'static str],
    pub throws: &'static [&'static str],
    pub calls: &'static [&'static str],
    pub arguments: &'static [&'static str],
    pub functions: &'static [&'static str],
    /// Declarations that are moved to the top of their block, so that a return before them does not matter.
    pub hoisted: &'static [&'static str],
}

static RUST: Shapes = Shapes {
    blocks: &["block"],
    ifs: &["if_expression"],
    each: &["for_expression"],
    each_over: "value",
    whiles: &["while_expression"],
    tries: &[],
    handlers: &[],
    ends: &["return_expression", "break_expression", "continue_expression"],
    returns: &["return_expression"],
    throws: &[],
    calls: &["call_expression", "macro_invocation"],
    arguments: &["arguments", "token_tree"],
    functions: &["closure_expression", "function_item", "async_block"],
    hoisted: &["function_item"],
};
static PYTHON: Shapes = Shapes {
    blocks: &["block"],
    ifs: &["if_statement"],
    each: &["for_statement"],
    each_over: "right",
    whiles: &["while_statement"],
    tries: &["try_statement"],
    handlers: &["except_clause", "except_group_clause"],
    ends: &["return_statement", "raise_statement", "break_statement", "continue_statement"],
    returns: &["return_statement"],
    throws: &["raise_statement"],
    calls: &["call"],
    arguments: &["argument_list"],
    functions: &["function_definition", "lambda"],
    hoisted: &[],
};
static SCRIPT: Shapes = Shapes {
    blocks: &["statement_block"],
    ifs: &["if_statement"],
    each: &["for_in_statement"],
    each_over: "right",
    whiles: &["while_statement", "for_statement"],
    tries: &["try_statement"],
    handlers: &["catch_clause"],
    ends: &["return_statement", "throw_statement", "break_statement", "continue_statement"],
    returns: &["return_statement"],
    throws: &["throw_statement"],
    calls: &["call_expression", "new_expression", "member_expression"],
    arguments: &["arguments", "template_string"],
    functions: &["arrow_function", "function_expression", "function_declaration", "method_definition"],
    hoisted: &["function_declaration"],
};
static GO: Shapes = Shapes {
    blocks: &["block", "statement_list"],
    ifs: &["if_statement"],
    each: &["for_statement"],
    each_over: "right",
    whiles: &[],
    tries: &[],
    handlers: &[],
    ends: &["return_statement", "break_statement", "continue_statement", "goto_statement"],
    returns: &["return_statement"],
    throws: &[],
    calls: &["call_expression"],
    arguments: &["argument_list"],
    functions: &["func_literal"],
    hoisted: &[],
};
static JAVA: Shapes = Shapes {
    blocks: &["block"],
    ifs: &["if_statement"],
    each: &["enhanced_for_statement"],
    each_over: "value",
    whiles: &["while_statement", "for_statement"],
    tries: &["try_statement", "try_with_resources_statement"],
    handlers: &["catch_clause"],
    ends: &["return_statement", "throw_statement", "break_statement", "continue_statement"],
    returns: &["return_statement"],
    throws: &["throw_statement"],
    calls: &["method_invocation", "object_creation_expression"],
    arguments: &["argument_list"],
    functions: &["lambda_expression", "method_declaration"],
    hoisted: &[],
};

pub(super) fn shapes(language: Language) -> &'static Shapes {
    match language {
        Language::Rust => &RUST,
        Language::Python => &PYTHON,
        Language::JavaScript | Language::TypeScript | Language::Tsx => &SCRIPT,
        Language::Go => &GO,
        Language::Java => &JAVA,
    }
}
