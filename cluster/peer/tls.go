package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"math/big"
	"os"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// lifetime is how long a certificate is valid that is made for a run.
const lifetime = 10 * 365 * 24 * time.Hour

// certificate returns the certificate of this process.
func (o Options) certificate() (tls.Certificate, error) {
	if o.CertFile != "" || o.KeyFile != "" {
		c, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return c, &errs.Error{Kind: errs.Invalid, Op: "peer.Open", Subject: "Options.CertFile, Options.KeyFile",
				Want: "the PEM files of a certificate and its key", Err: err,
				Remedy: "leave both empty for a certificate that is made for the run"}
		}
		return c, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, &errs.Error{Kind: errs.IO, Op: "peer.Open", Subject: "key", Err: err}
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, &errs.Error{Kind: errs.IO, Op: "peer.Open", Subject: "key", Err: err}
	}
	now := time.Now()
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "bivouac"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"bivouac"}}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, &errs.Error{Kind: errs.IO, Op: "peer.Open", Subject: "certificate", Err: err}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// authority returns the certificates of Options.CAFile, or nil.
func (o Options) authority() (*x509.CertPool, error) {
	if o.CAFile == "" {
		return nil, nil //nolint:nilnil // the fingerprint alone counts
	}
	b, err := os.ReadFile(o.CAFile)
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(b) {
		err = errors.New("no certificate is in the file")
	}
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "peer.Open", Subject: "Options.CAFile",
			Want: "a PEM file of certificates",
			Err:  err}
	}
	return pool, nil
}

// fingerprint returns the SHA-256 of a certificate.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// errFingerprint says that a server has another certificate than the board says.
var errFingerprint = errors.New("the certificate differs from the certificate on the board")

// clientTLS returns how to connect to a server with this fingerprint. host is the name that an
// authority must have signed.
func clientTLS(print, host string, roots *x509.CertPool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares the certificate itself
		VerifyConnection: func(c tls.ConnectionState) error {
			if len(c.PeerCertificates) == 0 || fingerprint(c.PeerCertificates[0].Raw) != print {
				return errFingerprint
			}
			if roots == nil {
				return nil
			}
			others := x509.NewCertPool()
			for _, cert := range c.PeerCertificates[1:] {
				others.AddCert(cert)
			}
			_, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: others,
				DNSName: host})
			return err
		},
	}
}
