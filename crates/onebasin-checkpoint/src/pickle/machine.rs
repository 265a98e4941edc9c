//! Interprets the opcodes of pickles of protocols 0 to 5; its memory grows with the bytes of the pickle, and no faster.

use super::input::Input;
use super::{Call, Fault, Id, Pickle, Value};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of the longest name of a module, class, function or storage: a pickle can name one long text many times.
pub(super) const LONGEST_NAME: usize = 512;

/// Reads the pickle that these bytes begin with.
pub fn read(bytes: &[u8]) -> Result<Pickle<'_>, Fault> {
    let mut machine = Machine {
        input: Input::new(bytes),
        values: vec![Value::None, Value::Bool(false), Value::Bool(true), Value::Opaque, Value::Tuple(Vec::new())],
        stack: Vec::new(),
        marks: Vec::new(),
        memo: BTreeMap::new(),
    };
    loop {
        let at = machine.input.at;
        let opcode = machine.input.number(1)? as u8;
        if opcode == b'.' {
            let root = machine.pop().map_err(|fault| placed(fault, opcode, at))?;
            let Machine { input, values, .. } = machine;
            return Ok(Pickle { bytes, values, root, len: input.at });
        }
        machine.step(opcode).map_err(|fault| placed(fault, opcode, at))?;
    }
}

/// The same fault, with the opcode and its place.
fn placed(fault: Fault, opcode: u8, at: usize) -> Fault {
    match fault {
        Fault::Ended => Fault::Ended,
        Fault::Wrong(reason) => Fault::Wrong(format!("{reason} (opcode 0x{opcode:02x} at byte {at})")),
    }
}

// Values that are made once.
const NONE: Id = 0;
const FALSE: Id = 1;
const TRUE: Id = 2;
const OPAQUE: Id = 3;
const EMPTY: Id = 4;

struct Machine<'a> {
    input: Input<'a>,
    values: Vec<Value>,
    stack: Vec<Id>,
    /// Height of the stack at each mark.
    marks: Vec<usize>,
    memo: BTreeMap<u64, Id>,
}

impl Machine<'_> {
    fn step(&mut self, opcode: u8) -> Result<(), Fault> {
        match opcode {
            // Protocol and frame: sizes that nothing here needs.
            0x80 => self.input.take(1).map(drop)?,
            0x95 => self.input.take(8).map(drop)?,
            b'(' => self.marks.push(self.stack.len()),
            b'0' => self.pop_or_mark()?,
            // Sets have no tensors that could be named, so what is added to them is dropped, too.
            b'1' | 0x90 => drop(self.pop_marked()?),
            b'2' => self.stack.push(self.top()?),

            b'N' => self.stack.push(NONE),
            0x88 => self.stack.push(TRUE),
            0x89 => self.stack.push(FALSE),
            b'I' => self.int_line()?,
            b'L' => {
                let value = self.input.number_line()?;
                self.push(value.map_or(Value::Opaque, Value::Int))?;
            }
            b'J' => {
                let value = self.input.number(4)? as u32 as i32;
                self.push(Value::Int(value.into()))?;
            }
            b'K' => self.unsigned(1)?,
            b'M' => self.unsigned(2)?,
            0x8a => self.long(1)?,
            0x8b => self.long(4)?,
            b'F' => {
                let value = self.input.number_line()?;
                self.push(Value::Float(value.ok_or_else(|| wrong("has a number that is none"))?))?;
            }
            b'G' => {
                let value = f64::from_bits(self.input.number(8)?.swap_bytes());
                self.push(Value::Float(value))?;
            }

            b'S' | b'V' => {
                let range = self.input.line()?;
                self.push(Value::Text(range))?;
            }
            // Strings of Python 2 are texts, too.
            0x8c | b'U' => self.text(1)?,
            b'X' | b'T' => self.text(4)?,
            0x8d => self.text(8)?,
            b'C' => self.bytes(1)?,
            b'B' => self.bytes(4)?,
            0x8e | 0x96 => self.bytes(8)?,

            b']' => self.push(Value::List(Vec::new()))?,
            b'l' => {
                let items = self.pop_marked()?;
                self.push(Value::List(items))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.pop_marked()?;
                self.append(items)?;
            }
            b')' => self.stack.push(EMPTY),
            b't' => {
                let items = self.pop_marked()?;
                self.push(Value::Tuple(items))?;
            }
            0x85..=0x87 => {
                let start = self.stack.len().checked_sub(usize::from(opcode - 0x84)).ok_or_else(empty)?;
                self.check_height(start)?;
                let items = self.stack.split_off(start);
                self.push(Value::Tuple(items))?;
            }
            b'}' => self.push(Value::Dict(Vec::new()))?,
            b'd' => {
                let items = self.pop_marked()?;
                self.push(Value::Dict(pairs(&items)?))?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(vec![(key, value)])?;
            }
            b'u' => {
                let items = self.pop_marked()?;
                self.set(pairs(&items)?)?;
            }
            0x8f => self.stack.push(OPAQUE),
            0x91 => {
                self.pop_marked()?;
                self.stack.push(OPAQUE);
            }

            b'c' => {
                let (module, name) = (self.input.line()?, self.input.line()?);
                self.global(module, name)?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (&self.values[module as usize], &self.values[name as usize]) {
                    (Value::Text(module), Value::Text(name)) => self.global(module.clone(), name.clone())?,
                    _ => return Err(wrong("names a class by something that is not a text")),
                }
            }
            b'R' | 0x81 => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                self.call(function, arguments)?;
            }
            0x92 => {
                let (_, arguments, function) = (self.pop()?, self.pop()?, self.pop()?);
                self.call(function, arguments)?;
            }
            b'b' => {
                let (state, object) = (self.pop()?, self.top()?);
                if let Value::Call(call) = &mut self.values[object as usize] {
                    call.state = Some(state);
                }
            }
            b'Q' => {
                let id = self.pop()?;
                self.push(Value::Persistent(id))?;
            }

            b'p' => {
                let place = self.input.number_line()?.ok_or_else(|| wrong("has a number that is none"))?;
                self.memoise(place)?;
            }
            b'q' => self.memoise_at(1)?,
            b'r' => self.memoise_at(4)?,
            0x94 => self.memoise(self.memo.len() as u64)?,
            b'g' => {
                let place = self.input.number_line()?.ok_or_else(|| wrong("has a number that is none"))?;
                self.recall(place)?;
            }
            b'h' => self.recall_at(1)?,
            b'j' => self.recall_at(4)?,
            _ => return Err(wrong("has an opcode that torch does not write")),
        }
        Ok(())
    }

    fn push(&mut self, value: Value) -> Result<(), Fault> {
        let id = Id::try_from(self.values.len()).map_err(|_| wrong("has more than 2^32 values"))?;
        self.values.push(value);
        self.stack.push(id);
        Ok(())
    }

    /// Refuses to take values from below the last mark.
    fn check_height(&self, height: usize) -> Result<(), Fault> {
        if self.marks.last().is_some_and(|mark| height < *mark) { Err(empty()) } else { Ok(()) }
    }

    fn pop(&mut self) -> Result<Id, Fault> {
        self.check_height(self.stack.len().saturating_sub(1))?;
        self.stack.pop().ok_or_else(empty)
    }

    fn pop_or_mark(&mut self) -> Result<(), Fault> {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.pop().map(drop)
    }

    fn top(&self) -> Result<Id, Fault> {
        self.check_height(self.stack.len().saturating_sub(1))?;
        self.stack.last().copied().ok_or_else(empty)
    }

    fn pop_marked(&mut self) -> Result<Vec<Id>, Fault> {
        let mark = self.marks.pop().ok_or_else(|| wrong("lacks a mark"))?;
        // Values are not taken from below a mark, so the stack is at least as high.
        Ok(self.stack.split_off(mark))
    }

    fn int_line(&mut self) -> Result<(), Fault> {
        let range = self.input.line()?;
        let line = self.input.slice(&range);
        match line {
            b"00" => self.stack.push(FALSE),
            b"01" => self.stack.push(TRUE),
            _ => {
                let value = std::str::from_utf8(line).ok().and_then(|line| line.trim().parse().ok());
                self.push(value.map_or(Value::Opaque, Value::Int))?;
            }
        }
        Ok(())
    }

    fn unsigned(&mut self, len: u64) -> Result<(), Fault> {
        let value = self.input.number(len)? as i64;
        self.push(Value::Int(value))
    }

    /// An integer of any length, two's complement.
    fn long(&mut self, width: u64) -> Result<(), Fault> {
        let range = self.input.counted(width)?;
        let bytes = self.input.slice(&range);
        if bytes.len() > 8 {
            self.stack.push(OPAQUE);
            return Ok(());
        }
        let sign = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
        let mut all = [sign; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        self.push(Value::Int(i64::from_le_bytes(all)))
    }

    fn text(&mut self, width: u64) -> Result<(), Fault> {
        let range = self.input.counted(width)?;
        self.push(Value::Text(range))
    }

    fn bytes(&mut self, width: u64) -> Result<(), Fault> {
        self.input.counted(width)?;
        self.stack.push(OPAQUE);
        Ok(())
    }

    fn global(&mut self, module: Range<usize>, name: Range<usize>) -> Result<(), Fault> {
        if module.len().max(name.len()) > LONGEST_NAME {
            return Err(wrong("names a class by a text that is too long"));
        }
        self.push(Value::Global(module, name))
    }

    fn append(&mut self, mut new: Vec<Id>) -> Result<(), Fault> {
        let list = self.top()?;
        match &mut self.values[list as usize] {
            Value::List(items) => items.append(&mut new),
            Value::Call(call) => call.items.append(&mut new),
            _ => return Err(wrong("appends to something that is not a list")),
        }
        Ok(())
    }

    fn set(&mut self, mut new: Vec<(Id, Id)>) -> Result<(), Fault> {
        let dict = self.top()?;
        match &mut self.values[dict as usize] {
            Value::Dict(members) => members.append(&mut new),
            Value::Call(call) => call.members.append(&mut new),
            _ => return Err(wrong("sets members of something that is not a dictionary")),
        }
        Ok(())
    }

    fn call(&mut self, function: Id, arguments: Id) -> Result<(), Fault> {
        let call = Call { function, arguments, state: None, members: Vec::new(), items: Vec::new() };
        self.push(Value::Call(Box::new(call)))
    }

    fn memoise(&mut self, place: u64) -> Result<(), Fault> {
        let top = self.top()?;
        self.memo.insert(place, top);
        Ok(())
    }

    fn memoise_at(&mut self, width: u64) -> Result<(), Fault> {
        let place = self.input.number(width)?;
        self.memoise(place)
    }

    fn recall(&mut self, place: u64) -> Result<(), Fault> {
        let value = self.memo.get(&place).copied();
        self.stack.push(value.ok_or_else(|| wrong("recalls a value that it did not memoise"))?);
        Ok(())
    }

    fn recall_at(&mut self, width: u64) -> Result<(), Fault> {
        let place = self.input.number(width)?;
        self.recall(place)
    }
}

fn pairs(items: &[Id]) -> Result<Vec<(Id, Id)>, Fault> {
    let (pairs, rest) = items.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(wrong("sets a key without a value"));
    }
    Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect())
}

fn wrong(reason: &str) -> Fault {
    Fault::Wrong(reason.to_owned())
}

fn empty() -> Fault {
    wrong("takes a value where there is none")
}
