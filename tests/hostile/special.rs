//! Files that are no files: pipes, devices, links that go round or out of the project; and files that cannot be read.
