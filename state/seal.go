package state

import (
	"hash/crc32"

	"github.com/bivouac-ml/bivouac/errs"
)

// Unsealed is the member of a document, with the comma after it, whose digits Seal fills in. It is
// the first member of a canonical document, or the second if the first is "batch".
const Unsealed = checksumHead + checksumZeros + `",`

const (
	checksumHead  = `"checksum":"`
	checksumZeros = "00000000"
	checksumName  = "checksum"
	hexDigits     = "0123456789abcdef"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal fills in the checksum of a canonical document that has [Unsealed] as its first member, or as
// the member after "batch": the CRC-32C of all its bytes, with zeros for the digits of the
// checksum. It changes b in place, allocates nothing, and leaves a document without that member as
// it is.
func Seal(b []byte) {
	at := checksumAt(b)
	if at == 0 {
		return
	}
	copy(b[at:], checksumZeros)
	sum := crc32.Checksum(b, castagnoli)
	for i := range len(checksumZeros) {
		b[at+i] = hexDigits[sum>>(28-4*i)&15]
	}
}

// checksumAt returns the offset of the digits of the checksum, or 0 if there is no checksum.
func checksumAt(b []byte) int {
	at := 1
	const batch = `"batch":`
	if len(b) > at+len(batch) && string(b[at:at+len(batch)]) == batch {
		for at < len(b) && b[at] != ',' {
			at++
		}
		at++
	}
	if len(b) < at+len(Unsealed) || string(b[at:at+len(checksumHead)]) != checksumHead {
		return 0
	}
	return at + len(checksumHead)
}

// checkSeal holds a parsed object against its checksum, which stays in it.
func checkSeal(op string, top map[string]any, got string) error {
	top[checksumName] = checksumZeros
	b := appendValue(nil, top)
	top[checksumName] = got
	sum, want := crc32.Checksum(b, castagnoli), make([]byte, 0, len(checksumZeros))
	for i := range len(checksumZeros) {
		want = append(want, hexDigits[sum>>(28-4*i)&15])
	}
	if string(want) != got {
		return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: checksumName, Want: string(want) + ", the checksum of the document", Got: shorten(got),
			Remedy: "the state was damaged or changed by hand; take an earlier one"}
	}
	return nil
}

// CheckSeal returns a JSON object in canonical form without its checksum, which [Seal] made. An
// object without a checksum is returned as it is, in canonical form. Errors are of kind
// errs.Corrupt: the errors of Canonical, and a wrong checksum.
func CheckSeal(b []byte) ([]byte, error) {
	const op = "state.CheckSeal"
	v, err := parse(b)
	if err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, corrupt(op, "", "a JSON object", describe(v))
	}
	if sum, has := top[checksumName]; has {
		digits, isText := sum.(string)
		if !isText {
			return nil, corrupt(op, checksumName, "text", describe(sum))
		}
		if err := checkSeal(op, top, digits); err != nil {
			return nil, err
		}
		delete(top, checksumName)
	}
	return appendValue(nil, top), nil
}
