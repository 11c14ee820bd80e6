package crew

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// report describes what a process has written.
type report struct {
	Failure  *failure `json:"failure,omitempty"`
	Manifest []byte   `json:"manifest,omitempty"` // lists its files
	// The numbers of bytes after the message that are its shares in the checksums of arrays, and its
	// entries of the databases, by item.
	Leaves  int            `json:"leaves,omitempty"`
	Entries map[string]int `json:"entries,omitempty"`

	leaves  leaves
	packed  map[string][]byte // entries as they are in the message
	entries map[string]entries
	files   *manifest.Manifest // Manifest, once it is read
}

// pack returns the bytes that follow the report in its message.
func (r *report) pack() (tail []byte) {
	tail = r.leaves.append(nil)
	r.Leaves, r.Entries = len(tail), map[string]int{}
	for _, item := range slices.Sorted(maps.Keys(r.entries)) {
		at := len(tail)
		tail = r.entries[item].append(tail)
		r.Entries[item] = len(tail) - at
	}
	return tail
}

// unpack completes a report with the bytes after its message.
func (r *report) unpack(tail []byte) error {
	rest := numbers{b: tail}
	var ok bool
	if len(tail) > 0 {
		if r.leaves, ok = parseLeaves(rest.bytes(r.Leaves)); !ok {
			return damaged("report")
		}
	}
	r.packed = map[string][]byte{}
	for _, item := range slices.Sorted(maps.Keys(r.Entries)) {
		r.packed[item] = rest.bytes(r.Entries[item])
	}
	if rest.err != nil || len(rest.b) > 0 {
		return damaged("report")
	}
	return nil
}

// parse reads the entries, without those that the primary has too, by item and key: the metadata of
// arrays, which must be the same.
func (r *report) parse(known map[string]map[string][]byte) (err error) {
	r.entries = map[string]entries{}
	for item, b := range r.packed {
		if r.entries[item], err = parseEntries(b, known[item]); err != nil {
			return errs.Wrap("", item, err)
		}
	}
	r.packed = nil
	return nil
}

// sealed is a report with the signature of the process, if checkpoints are signed.
type sealed struct {
	Report    json.RawMessage `json:"report"`
	Signature []byte          `json:"signature,omitempty"`
}

// message returns the text that is signed: the report and the bytes after it, bound to this meeting
// and process.
func (m *Meeting) message(process int, doc, tail []byte) []byte {
	text := append([]byte("bivouac crew\n"+m.talk.Staging()+"\n"+strconv.Itoa(process)+"\n"), doc...)
	return append(append(text, '\n'), tail...)
}

// public returns the name of a key.
func public(key ed25519.PrivateKey) string {
	if len(key) != ed25519.PrivateKeySize {
		return "none"
	}
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// sayReport writes the report of this process for the primary, or why it could not write its part.
func (m *Meeting) sayReport(ctx context.Context, err error) error {
	if err != nil {
		m.report = report{Failure: fail(err)}
	}
	var tail []byte
	if m.report.Failure == nil {
		tail = m.report.pack()
	}
	doc, err := json.Marshal(m.report)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Subject: "report", Err: err}
	}
	s := sealed{Report: doc}
	if m.signing != nil {
		s.Signature = ed25519.Sign(m.signing, m.message(m.group.Self, doc, tail))
	}
	return m.sayWith(ctx, of("report", m.group.Self), s, tail)
}

// hearReport reads the report of a process.
func (m *Meeting) hearReport(ctx context.Context, process int) (r report, err error) {
	var s sealed
	tail, err := m.hearWith(ctx, of("report", process), &s)
	if err != nil {
		return r, err
	}
	if m.signing != nil && !ed25519.Verify(m.signing.Public().(ed25519.PublicKey), m.message(process, s.Report, tail),
		s.Signature) {
		return r, &errs.Error{Kind: errs.Corrupt, Subject: "report",
			Want: "the signature of the key that signs the checkpoint", Got: "another signature, or no signature"}
	}
	if e := json.Unmarshal(s.Report, &r); e != nil {
		return r, &errs.Error{Kind: errs.Corrupt, Subject: "report", Err: e}
	}
	return r, r.unpack(tail)
}

// Join implements writer.Options.Join. On the primary it waits for the reports of the others and
// adds them to the draft. On the others it turns the draft into the report, from which the primary
// makes the documents.
func (m *Meeting) Join(ctx context.Context, txn store.Txn, draft *writer.Draft) error {
	if !m.group.Leads() {
		m.report = report{leaves: sumsOf(draft.Manifest.Leaves), entries: map[string]entries{}}
		draft.Manifest.Leaves = nil
		m.report.Manifest = draft.Manifest.Append(nil)
		for item, list := range draft.Entries {
			m.report.entries[item] = list
		}
		draft.Docs = nil
		return nil
	}
	m.said = true
	if err := m.barrier(ctx, written); err != nil {
		return err
	}
	others := m.group.others()
	g := newGathering(draft)
	for start := 0; start < len(others); start += reportsAtOnce {
		some := others[start:min(start+reportsAtOnce, len(others))]
		reports := make([]report, len(some))
		failed := atOnce(len(some), func(i int) error { return m.readReport(ctx, some[i], &reports[i], g.known) })
		for i, process := range some {
			switch err := failed[i]; {
			case errs.KindOf(err) == errs.NotFound && reports[i].files == nil:
				return err
			case err != nil:
				return errs.Wrap("", "process "+strconv.Itoa(process), err)
			case reports[i].Failure != nil:
				return reports[i].Failure.from(process)
			}
			if err := g.add(start+i+1, &reports[i]); err != nil {
				return errs.Wrap("", "process "+strconv.Itoa(process), err)
			}
		}
	}
	if err := g.finish(func(n int) int {
		if n == 0 {
			return m.group.Primary
		}
		return others[n-1]
	}); err != nil {
		return err
	}
	return m.next(ctx, txn, draft)
}

// reportsAtOnce is how many reports are in memory at once.
const reportsAtOnce = 64

// readReport reads the report of a process, without the entries that are known. Every file of the
// report must exist.
func (m *Meeting) readReport(
	ctx context.Context, process int, r *report, known map[string]map[string][]byte,
) (err error) {
	if *r, err = m.hearReport(ctx, process); err != nil || r.Failure != nil {
		return err
	}
	if err := m.checkFiles(ctx, r); err != nil {
		return err
	}
	return r.parse(known)
}

// checkFiles returns an error unless every file of the report exists.
func (m *Meeting) checkFiles(ctx context.Context, r *report) error {
	written, err := manifest.Parse(r.Manifest)
	if err != nil {
		return err
	}
	r.files, r.Manifest = written, nil
	r.leaves = append(r.leaves, sumsOf(written.Leaves)...)
	for _, f := range written.Files {
		in, err := m.call.Store.Stat(ctx, path.Join(m.txn.Staging(), f.Name))
		if errs.KindOf(err) == errs.NotFound {
			err = &errs.Error{Kind: errs.NotFound, Subject: f.Name, Want: "the file that the process has reported",
				Got: "no such file"}
		}
		if err == nil && in.Size != f.Size {
			err = &errs.Error{Kind: errs.Corrupt, Subject: f.Name, Want: strconv.FormatInt(f.Size, 10) + " bytes",
				Got: strconv.FormatInt(in.Size, 10)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// outcome is the outcome of a save.
type outcome struct {
	Failure *failure `json:"failure,omitempty"`
	Time    int64    `json:"time,omitempty"` // of the commit, in nanoseconds
}

// Write writes what Agree returned and w has planned. It returns when the checkpoint of all
// processes is committed, with the recorded time, or when it is clear that it will not be. err is
// why there is no writer. The meeting is over when Write returns.
func (m *Meeting) Write(ctx context.Context, w *writer.Writer, err error) (at time.Time, _ error) {
	if m.group.Leads() {
		return m.publish(ctx, w, err)
	}
	if err == nil {
		_, err = w.Write(ctx, guest{m.txn})
	}
	said := m.sayReport(ctx, err)
	m.barrier(ctx, written) //nolint:errcheck // only the outcome counts
	met := m.barrier(ctx, end)
	var is outcome
	heard := m.hear(ctx, "outcome", &is)
	m.leave(ctx) //nolint:errcheck // this process knows the outcome
	switch {
	case err != nil:
		return at, err
	case heard != nil:
		return at, errors.Join(store.ErrUncertain, met, said, heard)
	}
	return time.Unix(0, is.Time), is.Failure.from(m.group.Primary)
}

// publish implements Write on the primary.
func (m *Meeting) publish(ctx context.Context, w *writer.Writer, err error) (at time.Time, _ error) {
	if err == nil {
		at, err = w.Write(ctx, m.txn)
	} else {
		m.txn.Abort() //nolint:errcheck // the reason is already being returned
	}
	if !m.said {
		m.barrier(ctx, written) //nolint:errcheck // the reason is already being returned
	}
	m.say(ctx, "outcome", outcome{fail(err), at.UnixNano()}) //nolint:errcheck // its readers report that
	m.barrier(ctx, end)                                      //nolint:errcheck // the outcome is decided
	m.leave(ctx)                                             //nolint:errcheck // likewise
	return at, err
}

// guest is the transaction of a process other than the primary: the primary writes the documents.
type guest struct{ store.Txn }

// Commit makes the written files durable.
func (g guest) Commit(ctx context.Context, _ store.Blob, _ ...store.Blob) error {
	return g.Txn.Commit(ctx, store.Blob{})
}
