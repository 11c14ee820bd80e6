package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
)

const version = 2

// Serialize returns the states as text. It fails with errs.Sequence if there is no state, and with
// errs.Invalid for a key or a state that is not UTF-8.
func (c *Checkpoint) Serialize() (string, error) {
	if err := c.lock("Serialize"); err != nil {
		return "", err
	}
	defer c.mu.Unlock()
	return c.serialize()
}

func (c *Checkpoint) serialize() (string, error) {
	if len(c.order) == 0 {
		return "", fail(errs.Sequence, "Serialize", "states", "at least one state", "no state; call Collect first")
	}
	var b strings.Builder
	for i, key := range c.order {
		if i > 0 {
			b.WriteString(", ")
		}
		e := c.states[key]
		for _, text := range []string{key, printed(e.state), e.typeName} {
			if !utf8.ValidString(text) {
				return "", fail(errs.Invalid, "Serialize", "entry "+strconv.QuoteToASCII(key), "UTF-8",
					"other bytes; write the state as text, such as base64")
			}
		}
		quote(&b, key)
		b.WriteString(`: {"state": `)
		quote(&b, printed(e.state))
		b.WriteString(`, "type": `)
		if e.typed {
			quote(&b, e.typeName)
		} else {
			b.WriteString("null")
		}
		b.WriteString("}")
	}
	states := "{" + b.String() + "}"
	if c.options.Extend {
		return fmt.Sprintf(`{"version": %d, "states": %s, %q: {"checksum": %q}}`, version, states, extensionKey,
			checksum(states)), nil
	}
	return fmt.Sprintf(`{"version": %d, "states": %s}`, version, states), nil
}

// extensionKey is the key of the member that DALI does not know.
const extensionKey = "bivouac"

// checksum returns the checksum of the written states.
func checksum(states string) string {
	sum := sha256.Sum256([]byte(states))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkSum compares the states with the checksum of the extension, if there is an extension.
func checkSum(extension json.RawMessage, states string) error {
	if extension == nil {
		return nil
	}
	members, _, err := object(extension)
	if err != nil {
		return invalid(extensionKey, "an object", err.Error())
	}
	raw, ok := members["checksum"]
	if !ok {
		return nil
	}
	var want string
	if err := json.Unmarshal(raw, &want); err != nil {
		return invalid(extensionKey+".checksum", "text", string(raw))
	}
	if got := checksum(states); got != want {
		return fail(errs.Corrupt, "Deserialize", "states", want, got)
	}
	return nil
}

// printed returns the text of a state. nil becomes "None", as in Python.
func printed(state any) string {
	switch s := state.(type) {
	case nil:
		return "None"
	case []byte:
		return string(s)
	}
	return fmt.Sprint(state)
}

// quote writes a string like Python's json: only ASCII, with short escapes if they exist.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r >= 0x20 && r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}

// Deserialize replaces the states by the states in text; the objects stay. An error names what is
// wrong and leaves everything as it was. Its kind is errs.Corrupt if the checksum does not match
// the states, otherwise errs.Invalid. Deserialize refuses half a surrogate pair and bytes that are
// not UTF-8, because a Go string cannot hold them.
func (c *Checkpoint) Deserialize(text string) error {
	if err := c.lock("Deserialize"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	return c.deserialize(text)
}

func (c *Checkpoint) deserialize(text string) error {
	order, states, err := parse(text)
	if err != nil {
		return err
	}
	c.order, c.states = order, states
	clear(c.dirty)
	for _, key := range order {
		c.dirty[key] = true
	}
	c.complete, c.loaded = false, true
	return nil
}

func invalid(subject, want, got string) error {
	return fail(errs.Invalid, "Deserialize", subject, want, got)
}

// parse reads the format. It ignores unknown members.
func parse(text string) (order []string, states map[string]entry, err error) {
	if err := state.CheckText([]byte(text)); err != nil {
		return nil, nil, fail(errs.Invalid, "Deserialize", "text",
			"UTF-8 with complete surrogate pairs", "other bytes, or half a pair")
	}
	top, _, err := object([]byte(text))
	if err != nil {
		return nil, nil, invalid("text", "a JSON object", err.Error())
	}
	raw, ok := top["states"]
	if !ok {
		return nil, nil, invalid("text", `a member "states"`, "no such member")
	}
	if v, ok := top["version"]; !ok || !isVersion(v) {
		return nil, nil, invalid("version", strconv.Itoa(version), string(v))
	}
	if err := checkSum(top[extensionKey], string(raw)); err != nil {
		return nil, nil, err
	}
	entries, order, err := object(raw)
	if err != nil {
		return nil, nil, invalid("states", "an object", err.Error())
	}
	states = map[string]entry{}
	for _, key := range order {
		fields, _, err := object(entries[key])
		if err != nil {
			return nil, nil, invalid("entry "+key, "an object", err.Error())
		}
		state, ok := fields["state"]
		if !ok {
			return nil, nil, invalid("entry "+key, `a member "state"`, "no such member")
		}
		e := entry{state: asText(state)}
		if t, ok := fields["type"]; ok && string(t) != "null" {
			if err := json.Unmarshal(t, &e.typeName); err != nil {
				return nil, nil, invalid("type of entry "+key, "a string or null", string(t))
			}
			e.typed = true
		}
		states[key] = e
	}
	return order, states, nil
}

func isVersion(v json.RawMessage) bool {
	f, err := strconv.ParseFloat(string(v), 64)
	return err == nil && f == version
}

// object returns the members of a JSON object and the order of their first appearance.
func object(b []byte) (members map[string]json.RawMessage, order []string, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	t, err := d.Token()
	if err != nil {
		return nil, nil, err
	}
	if t != json.Delim('{') {
		return nil, nil, fmt.Errorf("%v", t)
	}
	members = map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, nil, err
		}
		name := key.(string)
		if _, ok := members[name]; !ok {
			order = append(order, name)
		}
		members[name] = v
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, fmt.Errorf("more text after it")
	}
	return members, order, nil
}
