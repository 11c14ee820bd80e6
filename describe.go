package bivouac

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/bivouac-ml/bivouac/order"
)

// digestInState finds the identity of an order in the state of a stream, where that is a
// digest.
var digestInState = regexp.MustCompile(`[a-z]+\(digest=[0-9a-f]{32} bytes=[0-9]+\)`)

// keepDescription keeps the description of the order once in the directory of the run,
// where the state of the stream has only a digest of it: in metadata/order-<digest>.txt.
// The stream is a loader then, or another one with a Description.
func (j *Job[B]) keepDescription(ctx context.Context, token []byte) error {
	d, ok := j.data.(interface{ Description() string })
	if !ok || !bytes.Contains(token, []byte("(digest=")) {
		return nil
	}
	identity := string(digestInState.Find(token))
	if identity == "" || identity == j.order {
		return nil
	}
	description := d.Description()
	if order.IdentityOf(description) != identity {
		return nil // it is another one's
	}
	_, digest, _ := strings.Cut(identity, "digest=")
	digest, _, _ = strings.Cut(digest, " ")
	if err := j.steps.PutMetadata(ctx, "order-"+digest+".txt", []byte(description)); err != nil {
		return err
	}
	j.order = identity
	return nil
}
