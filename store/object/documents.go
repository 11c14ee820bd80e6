package object

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// maxDocument is the number of bytes that a document may have: a tree of a million objects has
// fewer.
const maxDocument = 1 << 30

// A head of headBytes or more is a directory. A shorter one needs a look: a list shows the size,
// and so the names of a directory are known without reading their heads.
const headBytes = 256

const version = 1

// head is the document under heads/.
type head struct {
	Version int   `json:"version"`
	At      place `json:"at"`
	// Sum is the CRC-32C of the tree.
	Sum uint32 `json:"sum"`
	// Fenced says that a request of a dead transaction may still come for this name, on the condition
	// that the key is absent. So the key must never be absent again.
	Fenced bool `json:"fenced,omitempty"`
	// Nonce makes the document, and so its tag, like no other.
	Nonce string `json:"nonce"`
}

// short is a head that is not a directory, or not yet.
type short struct {
	Removed string `json:"removed,omitempty"` // a nonce: the name is free
	// Moved is the nonce of a move away from here, which has happened. To is where it went.
	Moved string `json:"moved,omitempty"`
	To    string `json:"to,omitempty"`
	// Move is the nonce of a move to here, which has happened if the head of From says so.
	Move string `json:"move,omitempty"`
	From string `json:"from,omitempty"`
	At   *place `json:"at,omitempty"`
}

// entry is an object of a tree.
type entry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  uint32 `json:"crc32c"`
	// In is the transaction that wrote the object, and As its name there. The zero In is the
	// transaction of the tree, and an empty As is Name.
	In *place `json:"in,omitempty"`
	As string `json:"as,omitempty"`
}

// tree is the document data/TXN/tree.
type tree struct {
	Version int     `json:"version"`
	Final   string  `json:"final"`
	Time    string  `json:"time"`
	Objects []entry `json:"objects"` // by Name, ascending
}

// Phases of a transaction.
const (
	writing    = "writing"
	committing = "committing" // its head may be put
	dead       = "dead"       // its head will never be put
)

// lease is the document live/TXN.
type lease struct {
	Version int    `json:"version"`
	Phase   string `json:"phase"`
	Final   string `json:"final"`
	Shared  bool   `json:"shared,omitempty"`
	Holder  string `json:"holder"`
	process
	// Absent and Tag are the condition of the head.
	Absent bool   `json:"absent,omitempty"`
	Tag    string `json:"tag,omitempty"`
	Nonce  string `json:"nonce"`
}

// process says which process wrote a document. Another one of the same system can see whether it
// has ended, and need not wait until its lease is over.
type process struct {
	System string `json:"system,omitempty"`
	PID    int    `json:"pid,omitempty"`
}

func thisOne() process { return process{system, os.Getpid()} }

// over reports whether the process has ended. It returns false where that cannot be seen.
func (p process) over() bool {
	return p.System == system && p.PID > 0 && ended(p.PID)
}

// gone is the document gone/TXN.
type gone struct {
	Version int    `json:"version"`
	Name    string `json:"name"` // of the directory that was removed
	// Keys are the objects that were put into the directory after it was committed.
	Keys  []string `json:"keys,omitempty"`
	Nonce string   `json:"nonce"`
}

func nonce() string {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	return hex.EncodeToString(b[:])
}

// encode writes a document with at least least bytes.
func encode(document any, least int) []byte {
	b, err := json.Marshal(document)
	if err != nil {
		panic(err) // the types of this package have a JSON form
	}
	if n := least - 1 - len(b); n > 0 {
		b = append(b, bytes.Repeat([]byte{' '}, n)...)
	}
	return append(b, '\n')
}

func decode(op, key string, b []byte, document any) error {
	if err := json.Unmarshal(b, document); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: key, Want: "a document of the object store",
			Got: quote(b), Err: err}
	}
	return nil
}

func quote(b []byte) string {
	if len(b) > 80 {
		return fmt.Sprintf("%q …", b[:80])
	}
	return fmt.Sprintf("%q", b)
}

func newer(op, key string, v int) error {
	if v == version {
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: key, Want: "version 1", Got: fmt.Sprint("version ", v),
		Remedy: "use the version of Bivouac that wrote it, or a newer one"}
}

// newHead returns the head of a tree, which is at least headBytes long.
func newHead(at place, sum uint32, fenced bool) []byte {
	return encode(head{version, at, sum, fenced, nonce()}, headBytes)
}

// loadTree reads the tree of a head.
func (s *Store) loadTree(ctx context.Context, op string, at place, sum uint32) (*tree, error) {
	key := s.treeKey(at)
	b, _, err := s.read(ctx, op, key)
	if err != nil {
		return nil, err
	}
	if got := sumOf(b); got != sum {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: key,
			Want: fmt.Sprintf("the checksum %08x of its head", sum),
			Got:  fmt.Sprintf("%08x", got), Remedy: "load another step"}
	}
	t := &tree{}
	if err := decode(op, key, b, t); err != nil {
		return nil, err
	}
	return t, newer(op, key, t.Version)
}

// find returns the entry of a name, or whether the name is a directory of the tree.
func (t *tree) find(name string) (e *entry, dir bool) {
	i, ok := slices.BinarySearchFunc(t.Objects, name, func(e entry, name string) int {
		return strings.Compare(e.Name, name)
	})
	if ok {
		return &t.Objects[i], false
	}
	if name == "" {
		return nil, true
	}
	// The names below a directory follow "name/", which is not where "name" would be.
	i, _ = slices.BinarySearchFunc(t.Objects, name+"/", func(e entry, name string) int {
		return strings.Compare(e.Name, name)
	})
	return nil, i < len(t.Objects) && strings.HasPrefix(t.Objects[i].Name, name+"/")
}

// source returns the key of an entry of the tree of a transaction, and the transaction that wrote
// it.
func (s *Store) source(at place, e *entry) (place, string) {
	name := e.Name
	if e.As != "" {
		name = e.As
	}
	if e.In != nil {
		at = *e.In
	}
	return at, s.objectKey(at) + name
}

// holder describes this process to others.
func holder(since time.Time) string {
	return thisProcess() + "since " + since.UTC().Format(time.RFC3339)
}

// time returns when the directory was committed, by the clock of its writer.
func (t *tree) time() time.Time {
	at, _ := time.Parse(time.RFC3339Nano, t.Time) //nolint:errcheck // for information only
	return at
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}
