package crew

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// report describes what a process has written.
type report struct {
	Failure  *failure           `json:"failure,omitempty"`
	Manifest []byte             `json:"manifest,omitempty"` // lists its files and its shares of arrays
	Entries  map[string][]entry `json:"entries,omitempty"`  // for the databases, by item
}

// entry is an ocdbt.Entry.
type entry struct {
	Key    string `json:"key"`
	File   string `json:"file,omitempty"` // "" for inline values
	Offset int64  `json:"offset,omitempty"`
	Length int64  `json:"length,omitempty"`
	Inline []byte `json:"inline,omitempty"`
}

func entriesOf(list []ocdbt.Entry) []entry {
	out := make([]entry, len(list))
	for i, e := range list {
		out[i] = entry{Key: e.Key, Inline: e.Value.Inline}
		if !e.Value.IsInline() {
			out[i] = entry{Key: e.Key, File: e.Value.File.Name, Offset: e.Value.Offset, Length: e.Value.Length}
		}
	}
	return out
}

func (e entry) ocdbt() ocdbt.Entry {
	if e.File == "" {
		return ocdbt.Entry{Key: e.Key, Value: ocdbt.InlineRef(e.Inline)}
	}
	return ocdbt.Entry{Key: e.Key, Value: ocdbt.Ref{File: ocdbt.File{Name: e.File}, Offset: e.Offset, Length: e.Length}}
}

// sealed is a report with the signature of the process, if checkpoints are signed.
type sealed struct {
	Report    json.RawMessage `json:"report"`
	Signature []byte          `json:"signature,omitempty"`
}

// message returns the text that is signed: the report, bound to this meeting and process.
func (m *Meeting) message(process int, doc []byte) []byte {
	return append([]byte("bivouac crew\n"+m.talk.Staging()+"\n"+strconv.Itoa(process)+"\n"), doc...)
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
	doc, err := json.Marshal(m.report)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Subject: "report", Err: err}
	}
	s := sealed{Report: doc}
	if m.signing != nil {
		s.Signature = ed25519.Sign(m.signing, m.message(m.group.Self, doc))
	}
	return m.say(ctx, of("report", m.group.Self), s)
}

// hearReport reads the report of a process.
func (m *Meeting) hearReport(ctx context.Context, process int) (r report, err error) {
	var s sealed
	if err := m.hear(ctx, of("report", process), &s); err != nil {
		return r, err
	}
	if m.signing != nil && !ed25519.Verify(m.signing.Public().(ed25519.PublicKey), m.message(process, s.Report),
		s.Signature) {
		return r, &errs.Error{Kind: errs.Corrupt, Subject: "report",
			Want: "the signature of the key that signs the checkpoint", Got: "another signature, or no signature"}
	}
	if e := json.Unmarshal(s.Report, &r); e != nil {
		return r, &errs.Error{Kind: errs.Corrupt, Subject: "report", Err: e}
	}
	return r, nil
}

// Join implements writer.Options.Join. On the primary it waits for the reports of the others and
// adds them to the draft. On the others it turns the draft into the report, from which the primary
// makes the documents.
func (m *Meeting) Join(ctx context.Context, txn store.Txn, draft *writer.Draft) error {
	if !m.group.Leads() {
		m.report = report{Manifest: draft.Manifest.Append(nil), Entries: map[string][]entry{}}
		for item, list := range draft.Entries {
			m.report.Entries[item] = entriesOf(list)
		}
		draft.Docs = nil
		return nil
	}
	m.said = true
	if err := m.barrier(ctx, written); err != nil {
		return err
	}
	for _, process := range m.group.others() {
		r, err := m.hearReport(ctx, process)
		if errs.KindOf(err) == errs.NotFound {
			return err
		}
		if err == nil {
			if failed := r.Failure.from(process); failed != nil {
				return failed
			}
			err = m.add(ctx, r, draft)
		}
		if err != nil {
			return errs.Wrap("", "process "+strconv.Itoa(process), err)
		}
	}
	return m.next(ctx, txn, draft)
}

// add adds the report of a process to the draft. Every file of the report must exist.
func (m *Meeting) add(ctx context.Context, r report, draft *writer.Draft) error {
	written, err := manifest.Parse(r.Manifest)
	if err != nil {
		return err
	}
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
	draft.Manifest.Files = append(draft.Manifest.Files, written.Files...)
	for _, l := range written.Leaves {
		if err := addLeaf(draft.Manifest, l); err != nil {
			return err
		}
	}
	for item, list := range r.Entries {
		if err := addEntries(draft, item, list); err != nil {
			return err
		}
	}
	return nil
}

// addEntries adds entries of a database. A key that several processes have is the metadata of an
// array, which must be the same.
func addEntries(draft *writer.Draft, item string, list []entry) error {
	inline := make(map[string][]byte, len(draft.Entries[item]))
	for _, e := range draft.Entries[item] {
		inline[e.Key] = e.Value.Inline
	}
	for _, e := range list {
		if b, twice := inline[e.Key]; twice && (b == nil || !bytes.Equal(b, e.Inline)) {
			return &errs.Error{Kind: errs.Mismatch, Subject: item + ": " + e.Key,
				Want: "the same storage of the array on all processes", Got: "different storage",
				Remedy: "give all processes the same storage options of leaves"}
		}
		draft.Entries[item] = append(draft.Entries[item], e.ocdbt())
	}
	return nil
}

// addLeaf adds what a process contributes to the checksums of an array: the checksums of its
// sub-chunks, and its share in the checksum of the whole.
func addLeaf(m *manifest.Manifest, l manifest.Leaf) error {
	i := slices.IndexFunc(m.Leaves, func(k manifest.Leaf) bool { return k.Item == l.Item && k.Param == l.Param })
	if i < 0 {
		m.Leaves = append(m.Leaves, l)
		return nil
	}
	k := &m.Leaves[i]
	if k.Size != l.Size || len(k.Chunks) != len(l.Chunks) {
		return &errs.Error{Kind: errs.Mismatch, Subject: "array " + strconv.Quote(l.Param),
			Want: "the same chunks of the array on all processes", Got: "different chunks"}
	}
	k.CRC ^= l.CRC
	for n, c := range l.Chunks {
		k.Chunks[n] ^= c
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
