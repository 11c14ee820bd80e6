package journal

import (
	"context"
	"encoding/json"
	"path"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/stream"
)

// OperatorsFile is the place of Operators in the directory of a run.
const OperatorsFile = "metadata/operators.json"

// OperatorsVersion is the version of Operators that this package writes.
const OperatorsVersion = 1

// MostOperators bounds the operators of a document. The others are counted in Operators.Left.
const MostOperators = 5000

// mostDocument bounds the bytes of a document that is read.
const mostDocument = 32 << 20

// Operators says what the operators of the data of a run have done. The run has one such document,
// of its newest attempt. A job replaces it every few seconds while it trains. It is no part of the
// record of the run: nothing is lost without it.
type Operators struct {
	Version int       `json:"version"`
	Attempt string    `json:"attempt"`        // id of the attempt; see Start.ID
	Time    time.Time `json:"time"`           // when this was true
	Step    int64     `json:"step"`           // steps done
	World   int       `json:"world"`          // ranks; the process that writes the journal tells of its own operators
	Ended   bool      `json:"ended"`          // the attempt ended by itself, and this is its last word
	Left    int       `json:"left,omitempty"` // operators that are not listed
	stream.Profile
}

// PutOperators replaces the document of the run in dir. Version is set here.
func PutOperators(ctx context.Context, st store.Store, dir string, o Operators) error {
	o.Version = OperatorsVersion
	if n := len(o.Operators); n > MostOperators {
		o.Operators, o.Left = o.Operators[:MostOperators], n-MostOperators
	}
	b, err := json.Marshal(&o)
	if err != nil {
		return errs.Wrap("journal.PutOperators", dir, err)
	}
	return errs.Wrap("journal.PutOperators", dir, st.Put(ctx, path.Join(dir, OperatorsFile), append(b, '\n'),
		store.PutOptions{}))
}

// ReadOperators reads the document of the run in dir. The error is of kind errs.NotFound if the run
// has none, errs.Corrupt if it is damaged, and errs.Unsupported if a newer version wrote it.
func ReadOperators(ctx context.Context, st store.Store, dir string) (*Operators, error) {
	const op = "journal.ReadOperators"
	name := path.Join(dir, OperatorsFile)
	info, err := st.Stat(ctx, name)
	if err != nil {
		return nil, errs.Wrap(op, name, err)
	}
	if info.Size > mostDocument {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: name, Want: "at most " +
			strconv.Itoa(mostDocument>>20) + " MiB", Got: strconv.FormatInt(info.Size, 10) + " bytes"}
	}
	b, err := store.ReadAll(ctx, st, name)
	if err != nil {
		return nil, errs.Wrap(op, name, err)
	}
	o, err := parseOperators(b)
	return o, errs.Wrap(op, name, err)
}

func parseOperators(b []byte) (*Operators, error) {
	var version struct {
		Version int `json:"version"`
	}
	damaged := func(want string, err error) error {
		return &errs.Error{Kind: errs.Corrupt, Want: want, Err: err, Remedy: "remove the file; a running job writes it anew"}
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, damaged("a JSON object", err)
	}
	if version.Version > OperatorsVersion {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: "version", Want: strconv.Itoa(OperatorsVersion),
			Got: strconv.Itoa(version.Version), Remedy: "use a newer Bivouac"}
	}
	o := &Operators{}
	if err := json.Unmarshal(b, o); err != nil {
		return nil, damaged("the operators of a run", err)
	}
	if o.Version < 1 || o.Time.IsZero() {
		return nil, damaged("a version and a time", nil)
	}
	seen := map[string]bool{}
	for _, op := range o.Operators {
		for _, in := range op.Inputs {
			if !seen[in] {
				return nil, damaged("each operator after its inputs", nil)
			}
		}
		if seen[op.Name] || op.Name == "" {
			return nil, damaged("operators with different names", nil)
		}
		seen[op.Name] = true
	}
	return o, nil
}
