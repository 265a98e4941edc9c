//! Writes any text so that it stays text: in XML and HTML, in Markdown, and in JSON inside of HTML.

/// Text of an element, or a value of an attribute in double quotes. What XML has no way to say is left out.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

/// Markdown in which nothing of `text` marks anything up; it becomes one line.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\r' => out.push(' '),
            '\\' | '|' | '*' | '`' | '[' | ']' => out.extend(['\\', c]),
            // Elsewhere it compares, and is read better as it is.
            '<' if rest.peek().is_some_and(|next| next.is_alphabetic() || matches!(next, '/' | '!' | '?')) => {
                out += "&lt;";
            }
            c => out.push(c),
        }
    }
    out
}

/// As `markdown`, for a paragraph: it begins no heading, list or quotation either.
pub(crate) fn markdown_paragraph(text: &str) -> String {
    let mut out = markdown(text);
    let digits = out.bytes().take_while(u8::is_ascii_digit).count();
    if out.starts_with(['#', '-', '+', '>', '=', '~']) || digits > 0 && out[digits..].starts_with(['.', ')']) {
        out.insert(digits, '\\');
    }
    out
}

/// JSON that may stand in a `script` element: `<` occurs only inside of strings, where it has another spelling.
pub(crate) fn json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}
