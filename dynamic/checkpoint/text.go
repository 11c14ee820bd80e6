package checkpoint

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// asText returns the text of a state in a file. A string is the text itself. For any other value
// the text is the result of Python's str. DALI does the same.
func asText(v json.RawMessage) string {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return repr(v)
}

// repr writes a JSON value as Python's repr writes the parsed value.
func repr(v json.RawMessage) string {
	text := strings.TrimSpace(string(v))
	switch {
	case text == "null":
		return "None"
	case text == "true":
		return "True"
	case text == "false":
		return "False"
	case strings.HasPrefix(text, `"`):
		var s string
		json.Unmarshal(v, &s) //nolint:errcheck // a token of a decoder is well-formed
		return quoted(s)
	case strings.HasPrefix(text, "["):
		var list []json.RawMessage
		json.Unmarshal(v, &list) //nolint:errcheck // as above
		items := make([]string, len(list))
		for i := range list {
			items[i] = repr(list[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case strings.HasPrefix(text, "{"):
		members, order, _ := object(v)
		items := make([]string, len(order))
		for i, key := range order {
			items[i] = quoted(key) + ": " + repr(members[key])
		}
		return "{" + strings.Join(items, ", ") + "}"
	case strings.ContainsAny(text, ".eE"):
		return float(text)
	}
	return text
}

// float writes a number with a fraction or an exponent as Python does: with the fewest digits, and
// with an exponent below 1e-4 and from 1e16.
func float(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && f > 0 { // too large
		return "inf"
	} else if err != nil {
		return "-inf"
	}
	if a := max(f, -f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// quoted writes a string in single quotes. If the string has single quotes but no double quotes,
// quoted writes double quotes.
func quoted(s string) string {
	q := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = `"`
	}
	var b strings.Builder
	b.WriteString(q)
	for _, r := range s {
		switch {
		case string(r) == q || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString(`\x` + hexDigits(r, 2))
		case r < 0x10000:
			b.WriteString(`\u` + hexDigits(r, 4))
		default:
			b.WriteString(`\U` + hexDigits(r, 8))
		}
	}
	return b.String() + q
}

func hexDigits(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", width-len(s)) + s
}

// Entry is a state in the text of a checkpoint.
type Entry struct {
	Key   string // of the object
	State string
	Type  string // of the object; empty if the text has no type
}

// Entries returns the states in text, in their order, as Deserialize would take them. It fails as
// Deserialize does.
func Entries(text string) ([]Entry, error) {
	order, states, err := parse(text)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, len(order))
	for i, key := range order {
		e := states[key]
		list[i] = Entry{Key: key, State: fmt.Sprint(e.state), Type: e.typeName}
	}
	return list, nil
}
