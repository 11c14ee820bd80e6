package loader

import (
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/order"
)

// newIdentity returns the identity of a loader. With full it has the whole description of the
// order, however long, as states had it before there were digests.
func newIdentity(s *protocol.Setup, samples int64, version int, full bool) document.Identity {
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
	id := document.NewIdentity(s.Fingerprint, fields)
	id.Anonymous = s.Anonymous
	return id
}

// describeSampler returns the String of a sampler, or the name of its type.
func describeSampler(s any) string {
	if d, ok := s.(fmt.Stringer); ok {
		return d.String()
	}
	return fmt.Sprintf("%T", s)
}

// scopeOf returns what the state document of a loader depends on.
func scopeOf(s *protocol.Setup) document.Scope {
	return document.Scope{Iterable: s.Iterable, NoDigest: s.NoDigest, Rank: s.Rank, World: s.World}
}
