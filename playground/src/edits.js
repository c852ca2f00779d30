// Places of findings count characters of Unicode; those of the editor count units of UTF-16.

export function unitsOf(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (offset) => offset;
  const starts = [];
  let unit = 0;
  for (const letter of text) {
    starts.push(unit);
    unit += letter.length;
  }
  starts.push(unit);
  return (offset) => starts[Math.min(offset, starts.length - 1)];
}

export function changesOf(edits, text) {
  const unit = unitsOf(text);
  return edits.map((edit) => ({ from: unit(edit.start.offset), to: unit(edit.end.offset), insert: edit.text }));
}
