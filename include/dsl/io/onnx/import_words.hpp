// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/operations/table.hpp>

#include <cstddef>
#include <string_view>

namespace dsl::detail::TYPENET_MODE {

/// Words of C++ and of the language dsl, but for the names of operations, each between two blanks.
inline constexpr std::string_view onnx_cpp_words =
    " alignas alignof and and_eq asm auto avg_pool1d bias bitand bitor bool break case catch causal "
    "causal_attention ceil_mode channel_split char char16_t char32_t char8_t class co_await co_return "
    "co_yield compl concept const const_cast constant constant_scale consteval constexpr constinit continue "
    "conv1d count_padding decltype default delete dilation do double dsl dynamic_cast elementwise else enum "
    "explicit export extern false features float for friend from frozen global_avg_pool1d global_avg_pool2d "
    "glorot_normal glorot_uniform goto grid_attention groups he_normal he_uniform identity if image "
    "initialized inline int intended kernel label last_step learning_rate long main max_pool1d model models "
    "mutable named named_input named_output namespace native network new noexcept not not_eq nullptr numbered "
    "operator or or_eq pad padding pointwise_dense private protected public reference register "
    "reinterpret_cast repeat requires residual return scaled sequence sequential shape short signed sizeof "
    "softmax2d static static_assert static_cast std stride struct switch tap template this thread_local throw "
    "token_numbers true truncated_normal try typedef typeid typename union unscaled_batch_norm unsigned using "
    "virtual void volatile wchar_t weight_decay while xor xor_eq zeros ";

/// Names that the C library declares or defines as macros outside any namespace, each between two blanks. Those that
/// differ from a listed name only by one of the ends below are not listed.
inline constexpr std::string_view onnx_c_names =
    " ACCESSPERMS ALLPERMS BUFSIZ CSIGNAL DEFFILEMODE DIR Dl_info Dl_serinfo Dl_serpath E2BIG EACCES EADDRINUSE "
    "EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD EBADMSG EBADR EBADRQC EBADSLT EBFONT "
    "EBUSY ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDOM "
    "EDOTDOT EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR EINVAL "
    "EIO EISCONN EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD "
    "ELIBEXEC ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL "
    "ENETDOWN ENETRESET ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK "
    "ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN "
    "ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO EOF EOPNOTSUPP EOVERFLOW "
    "EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EREMCHG EREMOTE EREMOTEIO "
    "ERESTART ERFKILL EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT "
    "ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS EWOULDBLOCK EXDEV EXFULL FAPPEND FASYNC FFSYNC FILE FIOGETOWN "
    "FIOSETOWN FNDELAY FNONBLOCK I INFINITY MAXFLOAT MAXNAMLEN MINSIGSTKSZ NAN NFDBITS NGREG NSIG NULL NZERO "
    "POLLERR POLLHUP POLLIN POLLMSG POLLNVAL POLLOUT POLLPRI POLLRDBAND POLLRDHUP POLLRDNORM POLLREMOVE "
    "POLLWRBAND POLLWRNORM P_tmpdir SIOCATMARK SIOCGPGRP SIOCSPGRP SNAN SNANF SNANF128 SNANF32 SNANF32X SNANF64X "
    "SNANL SOMAXCONN WCONTINUED WCOREFLAG WEOF WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED a64l abort abs accept "
    "accept4 access acct acos acosh adjtime alarm aligned_alloc alloca alphasort arc4random arc4random_buf "
    "arc4random_uniform asctime asin asinh asprintf at_quick_exit atan atan2 atanh atexit atof atoi atol basename "
    "bcmp bcopy bind brk bsearch btowc bzero c16rtomb c32rtomb c8rtomb cabs cacos cacosh calloc canonicalize "
    "canonicalize_file_name carg casin casinh catan catanh cbrt ccos ccosh ceil cexp chdir chmod chown chroot "
    "cimag clearenv clearerr clock clog clog10 clone close close_range closedir closefrom cmsghdr confstr conj "
    "connect copy_file_range copysign cos cosh cpow cproj creal creat crypt csin csinh csqrt ctan ctanh ctermid "
    "ctime cuserid daddl daemon daylight ddivl dfmal difftime dirent dirfd div dl_find_object dladdr dladdr1 "
    "dlclose dlerror dlinfo dlmopen dlopen dlsym dlvsym dmull dprintf drand48 drand48_data drem dsqrtl dsubl dup "
    "dup2 dup3 duplocale dysize eaccess ecvt endusershell environ erand48 erf erfc errno euidaccess execl execle "
    "execlp execv execve execveat execvp execvpe exit exp exp10 exp2 explicit_bzero expm1 f_owner_ex fabs "
    "faccessat fadd fallocate fchdir fchmod fchmodat fchown fchownat fclose fcloseall fcntl fcvt fd_mask fd_set "
    "fdatasync fdim fdiv fdopen fdopendir feclearexcept fedisableexcept feenableexcept fegetenv fegetexcept "
    "fegetexceptflag fegetmode fegetround feholdexcept feof feraiseexcept ferror fesetenv fesetexcept "
    "fesetexceptflag fesetmode fesetround fetestexcept fetestexceptflag feupdateenv fexecve fflush ffma ffs fgetc "
    "fgetpos fgets fgetwc fgetws file_handle fileno finite flock flockfile floor fma fmax fmaximum fmaximum_mag "
    "fmaximum_mag_num fmaximum_num fmaxmag fmemopen fmin fminimum fminimum_mag fminimum_mag_num fminimum_num "
    "fminmag fmod fmul fopen fopencookie fork fpathconf fpclassify fprintf fputc fputs fputwc fputws fread free "
    "freelocale freopen frexp fromfp fromfpx fscanf fseek fseeko fsetpos fsqrt fstat fstatat fsub fsync ftell "
    "ftello ftruncate ftrylockfile funlockfile futimens futimes futimesat fwide fwprintf fwrite fwscanf gamma "
    "gcvt get_current_dir_name getc getchar getcpu getcwd getdate getdate_err getdelim getdents64 getdirentries "
    "getdomainname getdtablesize getegid getentropy getenv geteuid getgid getgroups gethostid gethostname "
    "getitimer getline getloadavg getlogin getopt getpagesize getpass getpayload getpeername getpgid getpgrp "
    "getpid getppid getpt getresgid getresuid getsid getsockname getsockopt getsubopt gettid gettimeofday getuid "
    "getumask getusershell getw getwc getwchar getwd gmtime grantpt group_member gsignal hypot ilogb imaxabs "
    "imaxdiv index initstate iovec isalnum isalpha isascii isatty isblank iscanonical iscntrl isctype isdigit "
    "iseqsig isfdtype isfinite isgraph isgreater isgreaterequal isinf isless islessequal islessgreater islower "
    "isnan isnormal isprint ispunct issignaling isspace isunordered isupper iswalnum iswalpha iswblank iswcntrl "
    "iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit iszero itimerspec "
    "itimerval j0 j1 jmp_buf jn jrand48 kill killpg l64a labs lchmod lchown lcong48 lconv ldexp ldiv lerp lgamma "
    "linger link link_map linkat linux listen llabs lldiv llogb llrint llround localeconv localtime lockf log "
    "log10 log1p log2 logb longjmp lrand48 lrint lround lseek lstat lutimes madvise malloc math_errhandling mblen "
    "mbrlen mbrtoc16 mbrtoc32 mbrtoc8 mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc memccpy memchr memcmp "
    "memcpy memfd_create memfrob memmem memmove mempcpy memrchr memset mincore mkdir mkdirat mkdtemp mkfifo "
    "mkfifoat mknod mknodat mkostemp mkostemps mkstemp mkstemps mktemp mktime mlock mlock2 mlockall mmap mmsghdr "
    "modf mprotect mrand48 mremap msghdr msync munlock munlockall munmap name_to_handle_at nan nanosleep "
    "nearbyint newlocale nextafter nextdown nexttoward nextup nice nrand48 obstack obstack_printf obstack_vprintf "
    "on_exit open open_by_handle_at open_memstream open_wmemstream openat opendir optarg opterr optind optopt "
    "osockaddr pathconf pause pclose perror pipe pipe2 pkey_alloc pkey_free pkey_get pkey_mprotect pkey_set poll "
    "pollfd popen pow ppoll pread printf process_madvise process_mrelease profil program_invocation_name "
    "program_invocation_short_name pselect psiginfo psignal ptsname putc putchar putenv puts putw putwc putwchar "
    "pwrite qecvt qfcvt qgcvt qsort quick_exit raise rand random random_data rawmemchr read readahead readdir "
    "readlink readlinkat realloc reallocarray realpath recv recvfrom recvmmsg recvmsg remainder remap_file_pages "
    "remove remquo rename renameat renameat2 revoke rewind rewinddir rindex rint rmdir round roundeven rpmatch "
    "rusage sa_handler sa_sigaction sbrk scalb scalbln scalbn scandir scandirat scanf secure_getenv seed48 "
    "seekdir select send sendmmsg sendmsg sendto setbuf setbuffer setdomainname setegid setenv seteuid setgid "
    "sethostid sethostname setitimer setjmp setlinebuf setlocale setlogin setns setpayload setpayloadsig setpgid "
    "setpgrp setregid setresgid setresuid setreuid setsid setsockopt setstate settimeofday setuid setusershell "
    "setvbuf shm_open shm_unlink shutdown si_addr si_addr_lsb si_arch si_band si_call_addr si_fd si_int si_lower "
    "si_overrun si_pid si_pkey si_ptr si_status si_stime si_syscall si_timerid si_uid si_upper si_utime si_value "
    "sigaction sigaddset sigaltstack sigandset sigblock sigcontext sigdelset sigemptyset sigev_notify_attributes "
    "sigev_notify_function sigevent sigfillset siggetmask sighold sigignore siginterrupt sigisemptyset "
    "sigismember sigjmp_buf siglongjmp signal signbit signgam significand sigorset sigpause sigpending "
    "sigprocmask sigqueue sigrelse sigreturn sigset sigsetmask sigstack sigsuspend sigtimedwait sigval sigwait "
    "sigwaitinfo sin sincos sinh sleep snprintf sockaddr sockaddr_storage sockatmark socket socketpair splice "
    "sprintf sqrt srand srand48 srandom sscanf ssignal st_atime st_ctime st_mtime stat statx statx_timestamp "
    "stderr stdin stdout stpcpy stpncpy strcasecmp strcasestr strcat strchr strchrnul strcmp strcoll strcpy "
    "strcspn strdup strerror strfromd strfromf strfromf128 strfromf32 strfromf32x strfromf64x strfroml strfry "
    "strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strptime strrchr strsep "
    "strsignal strspn strstr strtod strtof strtof128 strtof32 strtof32x strtof64x strtoimax strtok strtol strtold "
    "strtoq strtoul strtoumax strtouq strverscmp strxfrm swab swprintf swscanf symlink symlinkat sync "
    "sync_file_range syncfs syscall sysconf system sysv_signal tan tanh tcgetpgrp tcsetpgrp tee telldir tempnam "
    "tgamma tgkill time timegm timelocal timespec timespec_get timespec_getres timeval timex timezone tm tmpfile "
    "tmpnam toascii tolower totalorder totalordermag toupper towctrans towlower towupper trunc truncate ttyname "
    "ttyslot typeof tzname tzset u_char u_int u_long u_short ualarm ucred ufromfp ufromfpx uint ulong umask "
    "ungetc ungetwc unix unlink unlinkat unlockpt unsetenv unshare uselocale ushort usleep utimensat utimes "
    "va_list valloc vasprintf vdprintf versionsort vfork vfprintf vfscanf vfwprintf vfwscanf vhangup vmsplice "
    "vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wait wait3 wait4 waitid "
    "waitpid wcpcpy wcpncpy wcrtomb wcscasecmp wcscat wcschr wcschrnul wcscmp wcscoll wcscpy wcscspn wcsdup "
    "wcsftime wcslen wcsncasecmp wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk wcsrchr wcsrtombs wcsspn "
    "wcsstr wcstod wcstof wcstof128 wcstof32 wcstof32x wcstof64x wcstoimax wcstok wcstol wcstold wcstombs wcstoq "
    "wcstoul wcstoumax wcstouq wcswcs wcswidth wcsxfrm wctob wctomb wctrans wctype wcwidth wmemchr wmemcmp "
    "wmemcpy wmemmove wmempcpy wmemset wprintf write wscanf y0 y1 yn ";

/// Whether a name, which has no __, may be one of C++, dsl or the C library. Families of names are taken as a whole:
/// capitals with an underscore, and the prefixes and ends that POSIX reserves.
constexpr bool onnx_is_taken(std::string_view name, bool of_c = false) {
  auto const listed = [&](std::string_view words) {
    for (std::size_t at = words.find(name); at != std::string_view::npos; at = words.find(name, at + 1))
      if (words[at - 1] == ' ' && words[at + name.size()] == ' ') return true;
    return false;
  };
  if (name.empty()) return false;
  if (listed(onnx_c_names)) return true;
  for (std::string_view const end : {"f", "l", "64", "_l", "_r", "f32", "f64", "f128", "f32x", "f64x", "_unlocked"})
    if (name.ends_with(end) && onnx_is_taken(name.substr(0, name.size() - end.size()), true)) return true;
  if (of_c) return false;
  bool capitals = true;
  for (char c : name) capitals = capitals && (c < 'a' || c > 'z');
  if (capitals && (name.find('_') != std::string_view::npos || name.starts_with("SIG"))) return true;
  for (std::string_view const begin : {"pthread_", "posix_", "sem_", "sched_", "timer_", "clock_", "f32", "f64", "M_",
                                       "PRI", "SCN", "AF_", "PF_", "L_"})
    if (name.starts_with(begin)) return true;
  for (int i = 0; i < operations::count; ++i) {
    auto const kind = static_cast<op>(i);
    bool const is_layer = kind != op::input && kind != op::transfer && kind != op::window_offsets;
    if (is_layer && name == operations::table[i].name) return true;
  }
  for (operations::row const& row : operations::activations)
    if (name == row.name) return true;
  return name.ends_with("_t") || name.ends_with("_np") || listed(onnx_cpp_words);
}

}  // namespace dsl::detail::TYPENET_MODE
