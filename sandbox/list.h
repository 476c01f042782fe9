/* Every backend that is built in: one line each, the only list. */
BACKEND(native)
BACKEND(local)
BACKEND(docker)
BACKEND(podman)
#ifdef HAVE_LIBSSH
BACKEND(ssh)
#endif
BACKEND(singularity)
BACKEND(apptainer)
