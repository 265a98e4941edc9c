//! Where the tensors of a pickled state dict are stored: as much of the pickle machine as `torch.save` uses, and nothing is run.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::storage::Place;

/// More levels of tuples than a state dict has; bounds the recursion that frees them.
const MOST_LEVELS: usize = 32;

#[derive(Clone, Debug)]
enum Value {
    Mark,
    Integer(i64),
    Text(Rc<str>),
    Global(Rc<str>),
    Storage { key: Rc<str>, dtype: i64 },
    Tensor(Rc<Place>),
    Tuple { parts: Rc<Vec<Value>>, levels: usize },
    /// A dictionary of the machine, by its index.
    Dictionary(usize),
    Other,
}

/// Names and places of the tensors of a dictionary, or what is wrong. A tensor whose place is not understood has none.
pub(super) fn places(bytes: &[u8]) -> Result<BTreeMap<String, Option<Place>>, String> {
    let mut machine = Machine { bytes, ..Machine::default() };
    let top = machine.run()?;
    let Value::Dictionary(index) = top else { return Err("the pickle holds no dictionary".to_owned()) };
    let tensors = machine.dictionaries[index].iter().map(|(name, value)| {
        let place = if let Value::Tensor(place) = value { Some(Place::clone(place)) } else { None };
        (name.to_string(), place)
    });
    Ok(tensors.collect())
}

#[derive(Default)]
struct Machine<'a> {
    bytes: &'a [u8],
    stack: Vec<Value>,
    memo: BTreeMap<u32, Value>,
    memoised: u32,
    dictionaries: Vec<Vec<(Rc<str>, Value)>>,
}

impl<'a> Machine<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (head, tail) = self.bytes.split_at_checked(len).ok_or("the pickle ends early")?;
        self.bytes = tail;
        Ok(head)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.take(N)?.try_into().expect("as many bytes as were asked for"))
    }

    fn line(&mut self) -> Result<&'a str, String> {
        let len = self.bytes.iter().position(|byte| *byte == b'\n').ok_or("the pickle ends early")?;
        let line = self.take(len + 1)?;
        std::str::from_utf8(&line[..len]).map_err(|_| "a name of the pickle is no UTF-8".to_owned())
    }

    fn text(&mut self, len: usize) -> Result<(), String> {
        let text = std::str::from_utf8(self.take(len)?).map_err(|_| "a text of the pickle is no UTF-8")?;
        self.stack.push(Value::Text(text.into()));
        Ok(())
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().ok_or_else(|| "the pickle takes from an empty stack".to_owned())
    }

    /// What lies above the last mark, which goes.
    fn marked(&mut self) -> Result<Vec<Value>, String> {
        let at = self.stack.iter().rposition(|value| matches!(value, Value::Mark));
        let parts = self.stack.split_off(at.ok_or("the pickle has no mark")? + 1);
        self.stack.pop();
        Ok(parts)
    }

    fn tuple(&mut self, parts: Vec<Value>) -> Result<(), String> {
        let inner = parts.iter().map(|part| if let Value::Tuple { levels, .. } = part { *levels } else { 0 });
        let levels = 1 + inner.max().unwrap_or(0);
        if levels > MOST_LEVELS {
            return Err("the tuples of the pickle are too deep".to_owned());
        }
        self.stack.push(Value::Tuple { parts: Rc::new(parts), levels });
        Ok(())
    }

    fn last(&mut self, count: usize) -> Result<(), String> {
        let at = self.stack.len().checked_sub(count).ok_or("the pickle takes from an empty stack")?;
        let parts = self.stack.split_off(at);
        self.tuple(parts)
    }

    fn dictionary(&mut self) {
        self.stack.push(Value::Dictionary(self.dictionaries.len()));
        self.dictionaries.push(Vec::new());
    }

    fn store(&mut self, items: Vec<Value>) {
        if let Some(Value::Dictionary(index)) = self.stack.last() {
            let mut items = items.into_iter();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                if let Value::Text(key) = key {
                    self.dictionaries[*index].push((key, value));
                }
            }
        }
    }

    fn memoise(&mut self, at: u32) -> Result<(), String> {
        let top = self.stack.last().ok_or("the pickle takes from an empty stack")?.clone();
        self.memo.insert(at, top);
        Ok(())
    }

    fn recall(&mut self, at: u32) -> Result<(), String> {
        let value = self.memo.get(&at).ok_or("the pickle recalls what it did not store")?.clone();
        self.stack.push(value);
        Ok(())
    }

    fn run(&mut self) -> Result<Value, String> {
        loop {
            let [opcode] = self.number()?;
            match opcode {
                b'.' => return self.pop(),
                0x80 => drop(self.take(1)?),
                0x95 => drop(self.take(8)?),
                b'(' => self.stack.push(Value::Mark),
                b'0' => drop(self.pop()?),
                b'1' => drop(self.marked()?),
                b'}' => self.dictionary(),
                b')' => self.tuple(Vec::new())?,
                b't' => {
                    let parts = self.marked()?;
                    self.tuple(parts)?;
                }
                0x85..=0x87 => self.last(usize::from(opcode - 0x84))?,
                b'N' | 0x88 | 0x89 | b']' | 0x8f => self.stack.push(Value::Other),
                b'K' => {
                    let number = i64::from(self.number::<1>()?[0]);
                    self.stack.push(Value::Integer(number));
                }
                b'M' => {
                    let number = i64::from(u16::from_le_bytes(self.number()?));
                    self.stack.push(Value::Integer(number));
                }
                b'J' => {
                    let number = i64::from(i32::from_le_bytes(self.number()?));
                    self.stack.push(Value::Integer(number));
                }
                0x8a => {
                    let [len] = self.number()?;
                    let bytes = self.take(usize::from(len))?;
                    self.stack.push(long(bytes));
                }
                b'G' => {
                    self.take(8)?;
                    self.stack.push(Value::Other);
                }
                b'X' => {
                    let len = u32::from_le_bytes(self.number()?);
                    self.text(len as usize)?;
                }
                0x8c => {
                    let [len] = self.number()?;
                    self.text(usize::from(len))?;
                }
                b'c' => {
                    let (module, name) = (self.line()?, self.line()?);
                    self.stack.push(Value::Global(format!("{module}.{name}").into()));
                }
                0x93 => {
                    let (name, module) = (self.pop()?, self.pop()?);
                    let (Value::Text(module), Value::Text(name)) = (module, name) else {
                        return Err("a name of the pickle is no text".to_owned());
                    };
                    self.stack.push(Value::Global(format!("{module}.{name}").into()));
                }
                b'q' => {
                    let [at] = self.number()?;
                    self.memoise(u32::from(at))?;
                }
                b'r' => {
                    let at = u32::from_le_bytes(self.number()?);
                    self.memoise(at)?;
                }
                0x94 => {
                    self.memoise(self.memoised)?;
                    self.memoised = self.memoised.wrapping_add(1);
                }
                b'h' => {
                    let [at] = self.number()?;
                    self.recall(u32::from(at))?;
                }
                b'j' => {
                    let at = u32::from_le_bytes(self.number()?);
                    self.recall(at)?;
                }
                b's' => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    self.store(vec![key, value]);
                }
                b'u' => {
                    let items = self.marked()?;
                    self.store(items);
                }
                b'a' | b'b' => drop(self.pop()?),
                b'e' | 0x90 => drop(self.marked()?),
                b'Q' => {
                    let value = storage(&self.pop()?);
                    self.stack.push(value);
                }
                b'R' | 0x81 => {
                    let (arguments, function) = (self.pop()?, self.pop()?);
                    match &function {
                        Value::Global(name) if &**name == "collections.OrderedDict" => self.dictionary(),
                        _ => self.stack.push(call(&function, &arguments)),
                    }
                }
                other => return Err(format!("the pickle has the unknown opcode {other:#04x}")),
            }
        }
    }
}

fn long(bytes: &[u8]) -> Value {
    if bytes.len() > 8 {
        return Value::Other;
    }
    let fill = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut all = [fill; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    Value::Integer(i64::from_le_bytes(all))
}

fn storage(id: &Value) -> Value {
    let Value::Tuple { parts, .. } = id else { return Value::Other };
    match &parts[..] {
        [Value::Text(_), Value::Global(class), Value::Text(key), ..] => {
            let names = ["Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"];
            let class = class.strip_prefix("torch.").and_then(|class| class.strip_suffix("Storage")).unwrap_or("");
            let dtype = match class {
                "Bool" => 12,
                "BFloat16" => 13,
                class => names.iter().position(|name| *name == class).map_or(0, |at| at as i64 + 1),
            };
            Value::Storage { key: Rc::clone(key), dtype }
        }
        _ => Value::Other,
    }
}

fn call(function: &Value, arguments: &Value) -> Value {
    let (Value::Global(function), Value::Tuple { parts, .. }) = (function, arguments) else { return Value::Other };
    match (&**function, &parts[..]) {
        ("torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state", [tensor, ..]) => {
            if let Value::Tensor(_) = tensor { tensor.clone() } else { Value::Other }
        }
        (
            "torch._utils._rebuild_tensor_v2" | "torch._utils._rebuild_tensor_v3",
            [Value::Storage { key, dtype }, Value::Integer(offset), sizes, strides, ..],
        ) => {
            let (Some(sizes), Some(strides)) = (integers(sizes), integers(strides)) else { return Value::Other };
            Value::Tensor(Rc::new(Place {
                storage: key.to_string(),
                dtype: *dtype,
                offset: *offset,
                sizes,
                strides,
            }))
        }
        _ => Value::Other,
    }
}

fn integers(tuple: &Value) -> Option<Vec<i64>> {
    let Value::Tuple { parts, .. } = tuple else { return None };
    parts.iter().map(|part| if let Value::Integer(number) = part { Some(*number) } else { None }).collect()
}
