// SPDX-License-Identifier: MIT
long long bytes_by_the_language_alone(int batch);

int main(int argc, char**) { return bytes_by_the_language_alone(argc - 1) > 0 ? 0 : 1; }
