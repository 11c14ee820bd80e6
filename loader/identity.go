package loader

import (
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// stateKind is the kind of a loader's state document.
const stateKind = "loader"

// identity is what a place is valid for: the data set, and in words what decides
// the order.
type identity struct {
	document state.Document
	head     string // of the JSON: `"checksum":"00000000","config":"…"`
	tail     string // of the JSON: `,"fields":{…},"fingerprint":"…","kind":"loader","position":`
}

// newIdentity is the identity of a loader. full has the description of its order as it
// is, however long, as states had it before there were digests.
func newIdentity(s *protocol.Setup, samples int64, version int, full bool) identity {
	fields := map[string]string{"seed": strconv.FormatUint(s.Seed, 10)}
	switch {
	case s.Iterable:
		fields["data"] = "iterable"
	case s.BatchSampler != nil:
		fields["batch_sampler"] = describeSampler(s.BatchSampler)
	case s.Sampler != nil:
		fields["sampler"] = describeSampler(s.Sampler)
	default:
		o, _ := orderOf(s, samples, version)
		if fields["order"] = o.String(); !full {
			fields["order"] = order.IdentityOf(fields["order"])
		}
	}
	if s.Packs {
		fields["batches"] = "packs"
	}
	if s.Name != "" {
		fields["name"] = s.Name
	}
	if !s.Iterable {
		fields["samples"] = strconv.FormatInt(samples, 10)
	}
	return identityFor(s.Fingerprint, fields)
}

// identityFor is the identity of a data set and the fields.
func identityFor(fingerprint string, fields map[string]string) identity {
	id := identity{document: state.Document{Version: state.Version, Kind: stateKind, Fingerprint: fingerprint, Fields: fields, Config: state.HashFields(fields)}}
	text := func(name, value string) string {
		return string(state.AppendString(append(state.AppendString(nil, name), ':'), value))
	}
	id.head = state.Unsealed + text("config", id.document.Config)
	id.tail = `,"fields":{`
	for i, name := range sortedNames(fields) {
		if i > 0 {
			id.tail += ","
		}
		id.tail += text(name, fields[name])
	}
	id.tail += "},"
	if fingerprint != "" {
		id.tail += text("fingerprint", fingerprint) + ","
	}
	id.tail += text("kind", stateKind) + `,"position":`
	return id
}

// describeSampler names a sampler: what it says of itself, or its type.
func describeSampler(s any) string {
	if d, ok := s.(fmt.Stringer); ok {
		return d.String()
	}
	return fmt.Sprintf("%T", s)
}
