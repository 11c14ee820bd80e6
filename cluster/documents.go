package cluster

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Keys of the documents.
const (
	jobKey      = "job"
	roundKey    = "round"
	seatPrefix  = "member/"
	partPrefix  = "part/"
	leasePrefix = "lease/"
)

func seatKey(rank int) string { return fmt.Sprintf("%s%06d", seatPrefix, rank) }

// partKey is the key of a part of a value. owner is the incarnation of the member that wrote it.
func partKey(owner, nonce string, i int) string {
	return partPrefix + owner + "/" + nonce + "/" + strconv.Itoa(i)
}

const version = 1

// who describes a process to others.
type who struct {
	Incarnation string    `json:"incarnation"`
	Rank        int       `json:"rank"`
	Host        string    `json:"host"`
	Process     int       `json:"process"`
	Since       time.Time `json:"since"` // for messages only
}

// at names the member with its host.
func (w who) at() string { return fmt.Sprintf("rank %d on %s", w.Rank, w.Host) }

// since names the process and when it joined.
func (w who) since() string {
	return fmt.Sprintf("%s (process %d, since %s)", w.at(), w.Process, w.Since.UTC().Format(time.RFC3339))
}

// job is the document of the job that uses the board. All members of a job have its epoch. It
// changes only when another job takes the place of one that ended.
type job struct {
	Version int               `json:"version"`
	Epoch   string            `json:"epoch"`
	Name    string            `json:"job"`
	World   int               `json:"world"`
	Terms   map[string]string `json:"terms,omitempty"`
	First   who               `json:"first"` // the member that wrote it
	// Closing says that the last member is leaving. A member that is still there takes it back.
	Closing bool   `json:"closing,omitempty"`
	Nonce   string `json:"nonce"`
}

// seat is the document of a member. Only the member writes it, and a process that takes its place.
type seat struct {
	Version int    `json:"version"`
	Epoch   string `json:"epoch"`
	who
	Beat    int64     `json:"beat"`
	Refused string    `json:"refused,omitempty"` // why Join refused the process; it is not there any more
	Open    []arrival `json:"open,omitempty"`
}

// arrival says that a member waits for the others at a key.
type arrival struct {
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	Nonce string `json:"nonce"`
	From  int    `json:"from,omitempty"` // of a broadcast
	Value *value `json:"value,omitempty"`
	Got   bool   `json:"got,omitempty"` // the member has the values of the others
	// Withdrawn says that the member gives up, unless the others were released before.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// find returns the arrival with a nonce, or nil.
func (s *seat) find(nonce string) *arrival {
	if s != nil {
		for i := range s.Open {
			if s.Open[i].Nonce == nonce {
				return &s.Open[i]
			}
		}
	}
	return nil
}

// value is what a member brings: the bytes, or where they are.
type value struct {
	Size   int64  `json:"size"`
	Sum    string `json:"sha256"`
	Inline []byte `json:"bytes,omitempty"`
	Parts  int    `json:"parts,omitempty"`
	Owner  string `json:"owner,omitempty"` // with Nonce, the keys of the parts
	Nonce  string `json:"nonce,omitempty"`
}

// round is the document of the member of rank 0: who is there, and who need not wait any more.
type round struct {
	Version int       `json:"version"`
	Epoch   string    `json:"epoch"`
	Root    string    `json:"root"` // the incarnation that wrote it
	Beat    int64     `json:"beat"`
	Roster  []place   `json:"roster"`
	Open    []release `json:"open,omitempty"`
}

// place is a rank in the roster. It is zero if nobody has joined.
type place struct {
	who
	Refused string `json:"refused,omitempty"`
}

// release says that all members have come to a key.
type release struct {
	Key    string   `json:"key"`
	Of     []string `json:"of"` // the nonces of the arrivals, by rank
	Values []value  `json:"values,omitempty"`
	// Failure is why the members that came do not fit together.
	Failure string `json:"failure,omitempty"`
	Done    bool   `json:"done,omitempty"` // all have the values
	// Withdrawn says that the member whose nonce is in Of has given up, and does not count.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// hold is the document of a lease. It is never removed, so that Token only grows.
type hold struct {
	Version int   `json:"version"`
	Held    bool  `json:"held"`
	Token   int64 `json:"token"`
	who
	Beat  int64  `json:"beat"`
	Nonce string `json:"nonce"`
}

func encode(document any) []byte {
	b, err := json.Marshal(document)
	if err != nil {
		panic(err) // the types of this package have a JSON form
	}
	return b
}

// decode reads a document. The error names the board and the key.
func (d desk) decode(op string, doc Document, into interface{ number() int }) error {
	where := d.Properties().Name + ": " + doc.Key
	if err := json.Unmarshal(doc.Value, into); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: where, Want: "a document of a cluster",
			Got: quote(doc.Value), Err: err,
			Remedy: "see which other program writes there; remove the document, or use another prefix"}
	}
	if n := into.number(); n != version {
		kind, remedy := errs.Unsupported, "give all members the same version of Bivouac"
		if n == 0 {
			kind, remedy = errs.Corrupt, "see which other program writes there"
		}
		return &errs.Error{Kind: kind, Op: op, Subject: where, Want: "version " + strconv.Itoa(version),
			Got: "version " + strconv.Itoa(n), Remedy: remedy}
	}
	return nil
}

func (j *job) number() int   { return j.Version }
func (s *seat) number() int  { return s.Version }
func (r *round) number() int { return r.Version }
func (h *hold) number() int  { return h.Version }

// quote shows the beginning of bytes that anybody may have written.
func quote(b []byte) string {
	if len(b) > 60 {
		return fmt.Sprintf("%q …", b[:60])
	}
	return fmt.Sprintf("%q", bytes.ToValidUTF8(b, []byte("?")))
}

// nonce returns 16 hexadecimal digits that nobody else has.
func nonce() string {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(b[:])
}

// thisHost names this machine.
func thisHost() string {
	host, _ := os.Hostname() //nolint:errcheck // it is empty then
	return cmp.Or(host, "an unknown host")
}

// ownerOf returns the incarnation in the key of a part.
func ownerOf(key string) string {
	owner, _, _ := strings.Cut(strings.TrimPrefix(key, partPrefix), "/")
	return owner
}
