// Package proof holds no code. Its folders prove the rest of the module:
//
//   - archtest: the rules of the architecture
//   - conform: comparison with cases that other systems recorded
//   - crash, crewtest: power cuts, failing calls and several processes
//   - dalivec, mistake, ordertest, photos, shuffletest: cases, tables and pictures for tests
//   - declared: names and tests that documents name are there
//   - documents: each document ever written is read for ever
//   - growth: costs may not grow faster than their input
//   - interop: exchange with the live systems
//   - verdicts: what reference readers said of files of a format
//   - pages: the pages of this repository are compared with the code
//
// Only tests and benchmarks import them. They may change without notice.
package proof
