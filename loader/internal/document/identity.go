// Package document is the state document of a loader: its contents, and how it is written and read.
// A state is a state.Document of the kind "loader". The member "extra" has what only a loader
// needs.
package document

import (
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/state"
)

// Kind is the kind of a loader's state document.
const Kind = "loader"

// Identity says for what a place is valid: for which data set, and for which options that decide
// the order.
type Identity struct {
	Document state.Document
	// Anonymous says that the data set has no fingerprint of its own. Then a state without a
	// fingerprint, as programs in Python write it for such a data set, is one of this data set.
	Anonymous bool

	head string // of the JSON: `"checksum":"00000000","config":"…"`
	tail string // of the JSON: `,"fields":{…},"fingerprint":"…","kind":"loader","position":`
}

// NewIdentity returns the identity of a data set with the given fields.
func NewIdentity(fingerprint string, fields map[string]string) Identity {
	id := Identity{Document: state.Document{
		Version: state.Version, Kind: Kind, Fingerprint: fingerprint, Fields: fields, Config: state.HashFields(fields),
	}}
	text := func(name, value string) string {
		return string(state.AppendString(append(state.AppendString(nil, name), ':'), value))
	}
	id.head = state.Unsealed + text("config", id.Document.Config)
	id.tail = `,"fields":{`
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			id.tail += ","
		}
		id.tail += text(name, fields[name])
	}
	id.tail += "},"
	if fingerprint != "" {
		id.tail += text("fingerprint", fingerprint) + ","
	}
	id.tail += text("kind", Kind) + `,"position":`
	return id
}

// Scope is everything else on which a document depends, apart from its place and identity.
type Scope struct {
	Iterable    bool // the data set is read by streams, which ranks share
	NoDigest    bool // neither digest nor coverage is written
	Rank, World int
}

// ranks returns the number of ranks that share the streams.
func (s Scope) ranks() int {
	if s.Iterable {
		return s.World
	}
	return 1
}
