package org.apache.hudi.aws.transaction.lock;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Properties;
import org.apache.hudi.client.transaction.lock.StorageLockClient;
import org.apache.hudi.client.transaction.lock.models.LockGetResult;
import org.apache.hudi.client.transaction.lock.models.LockUpsertResult;
import org.apache.hudi.client.transaction.lock.models.StorageLockData;
import org.apache.hudi.client.transaction.lock.models.StorageLockFile;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;

/**
 * The requests of Hudi's client for S3, under its name, for a server that checks no signatures: there is no hudi-aws of
 * Hudi 1.2 to link with. All else of the lock is Hudi's own StorageBasedLockProvider.
 */
public class S3StorageLockClient implements StorageLockClient {

  private static final String SIGNED = "AWS4-HMAC-SHA256 Credential=access/20260101/us-east-1/s3/aws4_request";
  private final HttpClient server = HttpClient.newHttpClient();
  private final String path;

  public S3StorageLockClient(String owner, String path, Properties given) {
    this.path = path;
  }

  @Override
  public Pair<LockGetResult, Option<StorageLockFile>> readCurrentLockFile() {
    HttpResponse<byte[]> said = send(request(path).GET());
    if (said.statusCode() == 404) {
      return Pair.of(LockGetResult.NOT_EXISTS, Option.empty());
    }
    if (said.statusCode() != 200) {
      return Pair.of(LockGetResult.UNKNOWN_ERROR, Option.empty());
    }
    return Pair.of(LockGetResult.SUCCESS, Option.of(
        StorageLockFile.createFromStream(new ByteArrayInputStream(said.body()), tag(said))));
  }

  @Override
  public Pair<LockUpsertResult, Option<StorageLockFile>> tryUpsertLockFile(
      StorageLockData data, Option<StorageLockFile> before) {
    HttpRequest.Builder put = request(path).PUT(BodyPublishers.ofByteArray(StorageLockFile.toByteArray(data)));
    put = before.isPresent()
        ? put.header("If-Match", before.get().getVersionId()) : put.header("If-None-Match", "*");
    HttpResponse<byte[]> said = send(put);
    if (said.statusCode() == 412) {
      return Pair.of(LockUpsertResult.ACQUIRED_BY_OTHERS, Option.empty());
    }
    if (said.statusCode() != 200) {
      return Pair.of(LockUpsertResult.UNKNOWN_ERROR, Option.empty());
    }
    return Pair.of(LockUpsertResult.SUCCESS, Option.of(new StorageLockFile(data, tag(said))));
  }

  @Override
  public Option<String> readObject(String file, boolean checkExistsFirst) {
    HttpResponse<byte[]> said = send(request(file).GET());
    return said.statusCode() == 200 ? Option.of(new String(said.body())) : Option.empty();
  }

  @Override
  public boolean writeObject(String file, String content) {
    return send(request(file).PUT(BodyPublishers.ofString(content))).statusCode() == 200;
  }

  @Override
  public void close() {
  }

  private static HttpRequest.Builder request(String file) {
    Pair<String, String> where = StorageLockClient.parseBucketAndPath(file);
    String endpoint = System.getenv("AWS_ENDPOINT_URL_S3");
    return HttpRequest.newBuilder(URI.create(endpoint + "/" + where.getLeft() + "/" + where.getRight()))
        .header("Authorization", SIGNED);
  }

  private static String tag(HttpResponse<byte[]> said) {
    return said.headers().firstValue("ETag").orElseThrow();
  }

  private HttpResponse<byte[]> send(HttpRequest.Builder request) {
    try {
      return server.send(request.build(), BodyHandlers.ofByteArray());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
  }
}
