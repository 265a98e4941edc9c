//! Escapes text for XML and HTML, and for Markdown.

/// Escapes the text of an element or the value of an attribute in quotes, without characters that XML does not allow.
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

/// Escapes all markup of Markdown; the result is one line.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\r' => out.push(' '),
            '\\' | '|' | '*' | '`' | '[' | ']' => out.extend(['\\', c]),
            // Elsewhere it is a comparison, and stays.
            '<' if rest.peek().is_some_and(|next| next.is_alphabetic() || matches!(next, '/' | '!' | '?')) => {
                out += "&lt;";
            }
            c => out.push(c),
        }
    }
    out
}

/// Escapes a paragraph of Markdown, which must not begin a heading, a list or a quotation either.
pub(crate) fn markdown_paragraph(text: &str) -> String {
    let mut out = markdown(text);
    let digits = out.bytes().take_while(u8::is_ascii_digit).count();
    if out.starts_with(['#', '-', '+', '>', '=', '~']) || digits > 0 && out[digits..].starts_with(['.', ')']) {
        out.insert(digits, '\\');
    }
    out
}
