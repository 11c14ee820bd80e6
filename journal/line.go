package journal

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// A line is a JSON object whose last member is the checksum:
//
//	{"kind":"step","step":12,"t":3.204101,"scalars":{"loss":0.5},"crc":"79cdf536"}
//
// crc is the CRC-32C, in eight hexadecimal digits, of all bytes of the line before `,"crc":`.
const (
	sumKey   = `,"crc":"`
	sumBytes = len(sumKey) + 8 + len(`"}`)
)

const hexDigits = "0123456789abcdef"

// seal closes a line that began at b[from:] with its checksum and a newline.
func seal(b []byte, from int) []byte {
	sum := crc.Sum(b[from:])
	return append(appendSum(append(b, sumKey...), sum), '"', '}', '\n')
}

func appendSum(b []byte, sum uint32) []byte {
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, hexDigits[sum>>shift&15])
	}
	return b
}

// unseal checks the checksum of a line without its newline, and returns the line without it: an
// object without its closing brace.
func unseal(line []byte) ([]byte, error) {
	n := len(line) - sumBytes
	if n < 1 || string(line[n:n+len(sumKey)]) != sumKey || string(line[len(line)-2:]) != `"}` {
		return nil, &errs.Error{Kind: errs.Corrupt, Want: "a line that ends with a checksum", Got: excerpt(line)}
	}
	want := line[n+len(sumKey) : len(line)-2]
	var digits [8]byte
	if sum := appendSum(digits[:0], crc.Sum(line[:n])); string(sum) != string(want) {
		return nil, &errs.Error{Kind: errs.Corrupt, Want: "a line with checksum " + strconv.Quote(string(want)),
			Got: string(sum)}
	}
	return line[:n], nil
}

// excerpt quotes the beginning of a line for a message.
func excerpt(line []byte) string {
	const most = 40
	if len(line) > most {
		return strconv.Quote(string(line[:most])) + "…"
	}
	return strconv.Quote(string(line))
}

// body has the members of a row that encoding/json reads and writes.
type body struct {
	Kind    Kind        `json:"kind"`
	Step    int64       `json:"step"`
	T       Seconds     `json:"t"`
	Scalars *scalarList `json:"scalars,omitempty"`
	Start   *Start      `json:"start,omitempty"`
	Save    *Save       `json:"save,omitempty"`
	Event   *Event      `json:"event,omitempty"`
	Lost    *Lost       `json:"lost,omitempty"`
	End     *End        `json:"end,omitempty"`
}

// appendRow appends a row of any kind except StepRow as a line.
func appendRow(b []byte, r *Row) []byte {
	from := len(b)
	text, err := json.Marshal(body{Kind: r.Kind, Step: r.Step, T: rounded(r.At), Start: r.Start, Save: r.Save,
		Event: r.Event, Lost: r.Lost, End: r.End})
	if err != nil { // only a number that is not finite, or a year beyond 9999
		return b
	}
	return seal(append(b, text[:len(text)-1]...), from)
}

// rounded returns s in whole microseconds, and 0 for what JSON cannot hold.
func rounded(s Seconds) Seconds {
	if f := math.Round(float64(s)*1e6) / 1e6; !math.IsNaN(f) && !math.IsInf(f, 0) {
		return Seconds(f)
	}
	return 0
}

// appendStep appends a StepRow as a line.
func appendStep(b []byte, step int64, at time.Duration, s *Scalars) []byte {
	from := len(b)
	b = append(b, `{"kind":"step","step":`...)
	b = strconv.AppendInt(b, step, 10)
	b = append(b, `,"t":`...)
	b = appendMicros(b, at)
	b = append(b, `,"scalars":{`...)
	first := true
	for i := range s.slots {
		if !s.slots[i].set {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, s.slots[i].key...)
		b = appendFloat(b, s.slots[i].value)
	}
	return seal(append(b, '}'), from)
}

// inMicros returns a time as appendMicros writes it.
func inMicros(d time.Duration) Seconds { return Seconds(float64(max(d, 0).Microseconds()) / 1e6) }

// appendMicros appends a time in seconds with six decimals.
func appendMicros(b []byte, d time.Duration) []byte {
	micros := max(d, 0).Microseconds()
	b = strconv.AppendInt(b, micros/1e6, 10)
	b = append(b, '.')
	for unit := int64(1e5); unit > 0; unit /= 10 {
		b = append(b, byte('0'+micros/unit%10))
	}
	return b
}

// appendFloat appends a number so that it reads back exactly. JSON has no NaN and no infinities:
// they are strings, as in the JSON form of protocol buffers.
func appendFloat(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// parseFloat reads what appendFloat writes.
func parseFloat(b []byte) (float64, bool) {
	switch string(b) {
	case `"NaN"`:
		return math.NaN(), true
	case `"Infinity"`:
		return math.Inf(1), true
	case `"-Infinity"`:
		return math.Inf(-1), true
	}
	if len(b) == 0 || b[0] != '-' && (b[0] < '0' || b[0] > '9') {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil
}

// ParseLine reads one line of a journal, without its newline. The error is of kind errs.Corrupt for
// a damaged line. A row of a kind that is not known has its line in Raw.
func ParseLine(line []byte) (Row, error) {
	open, err := unseal(line)
	if err != nil {
		return Row{}, err
	}
	if r, ok := parseStep(open); ok {
		return r, nil
	}
	var b body
	if err := json.Unmarshal(line, &b); err != nil {
		return Row{}, &errs.Error{Kind: errs.Corrupt, Want: "a row of a journal", Got: excerpt(line), Err: err}
	}
	r := Row{Kind: b.Kind, Step: b.Step, At: b.T}
	switch {
	case b.Kind == StepRow && b.Scalars != nil:
		r.Scalars = *b.Scalars
	case b.Kind == StepRow:
	case b.Kind == StartRow && b.Start != nil:
		r.Start = b.Start
	case b.Kind == SaveRow && b.Save != nil:
		r.Save = b.Save
	case b.Kind == EventRow && b.Event != nil:
		r.Event = b.Event
	case b.Kind == LostRow && b.Lost != nil:
		r.Lost = b.Lost
	case b.Kind == EndRow && b.End != nil:
		r.End = b.End
	case b.Kind.known():
		return Row{}, &errs.Error{Kind: errs.Corrupt, Want: "a row with the member " + string(b.Kind), Got: excerpt(line)}
	default:
		r.Raw = bytes.Clone(line)
	}
	return r, nil
}

func (k Kind) known() bool {
	switch k {
	case StartRow, StepRow, SaveRow, EventRow, LostRow, EndRow:
		return true
	}
	return false
}

// parseStep reads a StepRow in the exact form of appendStep, without its checksum and closing
// brace. It returns false for any other form.
func parseStep(b []byte) (Row, bool) {
	r := Row{Kind: StepRow}
	b, ok := bytes.CutPrefix(b, []byte(`{"kind":"step","step":`))
	if !ok {
		return r, false
	}
	number, b, ok := bytes.Cut(b, []byte(`,"t":`))
	if !ok {
		return r, false
	}
	step, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return r, false
	}
	r.Step = step
	number, b, ok = bytes.Cut(b, []byte(`,"scalars":{`))
	if !ok {
		return r, false
	}
	at, ok := parseFloat(number)
	if !ok || len(b) == 0 || b[len(b)-1] != '}' {
		return r, false
	}
	r.At = Seconds(at)
	b = b[:len(b)-1]
	if len(b) == 0 {
		return r, true
	}
	r.Scalars = make([]Scalar, 0, bytes.Count(b, []byte(`":`)))
	for {
		if len(b) == 0 || b[0] != '"' {
			return r, false
		}
		end := bytes.IndexByte(b[1:], '"') + 1
		if end < 1 || bytes.IndexByte(b[1:end], '\\') >= 0 || end+1 >= len(b) || b[end+1] != ':' {
			return r, false
		}
		name := b[1:end]
		b = b[end+2:]
		stop := bytes.IndexByte(b, ',')
		if stop < 0 {
			stop = len(b)
		}
		v, ok := parseFloat(b[:stop])
		if !ok {
			return r, false
		}
		r.Scalars = append(r.Scalars, Scalar{string(name), v})
		if stop == len(b) {
			return r, true
		}
		b = b[stop+1:]
	}
}
