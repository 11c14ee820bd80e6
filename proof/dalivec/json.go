package dalivec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// ReadJSON decodes a file of the vectors into v. Python writes numbers that JSON
// does not have, NaN, Infinity and -Infinity: they come as strings of that text.
// Numbers in an any are json.Number, so that 1 and 1.0 differ as in Python.
func ReadJSON(file string, v any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(quoteSpecials(b)))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// quoteSpecials puts what is not JSON outside of strings in quotes.
func quoteSpecials(b []byte) []byte {
	if !bytes.Contains(b, []byte("NaN")) && !bytes.Contains(b, []byte("Infinity")) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	inString := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			out = append(out, c, b[i+1])
			i++
			continue
		case c == '"':
			inString = !inString
		case !inString && strings.IndexByte("NI-", c) >= 0:
			if word := special(b[i:]); word != "" {
				out = append(append(append(out, '"'), word...), '"')
				i += len(word) - 1
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}

func special(b []byte) string {
	for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(w)) {
			return w
		}
	}
	return ""
}
