package order

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

// MaxIdentity is the longest description that a state holds in full, in bytes.
const MaxIdentity = 256

// Identity returns the text that a state stores for an order. It is the String of the order if that
// has at most MaxIdentity bytes. Otherwise it is the kind of the order, a digest of the String and
// its length:
//
//	mixture(digest=6b86b273ff34fce19d6b804eff5a3f57 bytes=53012)
//
// So a state is small for every order. Equal identities mean equal orders, unless digests of 128
// bits collide.
func Identity(o Order) string { return IdentityOf(o.String()) }

// IdentityOf returns the Identity of an order with the given description.
func IdentityOf(description string) string {
	if len(description) <= MaxIdentity {
		return description
	}
	kind, _, _ := strings.Cut(description, "(")
	if !kindPattern.MatchString(kind) {
		kind = "order"
	}
	sum := sha256.Sum256([]byte("bivouac.order.identity.v1\x00" + description))
	return fmt.Sprintf("%s(digest=%x bytes=%d)", kind, sum[:16], len(description))
}

// IsDigest reports whether an identity is a digest. A digest names an order and does not describe
// it.
func IsDigest(identity string) bool { return digestPattern.MatchString(identity) }

var (
	kindPattern   = regexp.MustCompile(`^[a-z]{1,32}$`)
	digestPattern = regexp.MustCompile(`^[a-z]{1,32}\(digest=[0-9a-f]{32} bytes=[0-9]+\)$`)
)
